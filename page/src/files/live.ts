// A drawing of the page as a file of its own, with the look that the page's style sheet gives it.
import { escaped } from "./fields";

const LOOK = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-size", "font-weight", "font-family", "text-anchor", "opacity"] as const;

/** The SVG with the computed look of each of its elements, and a title. */
export function standalone(drawing: SVGSVGElement, title: string): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]) as [Element[], Element[]];
  from.forEach((element, place) => {
    const look = getComputedStyle(element);
    LOOK.forEach((name) => to[place]?.setAttribute(name, look.getPropertyValue(name)));
    ["class", "tabindex", "role", "aria-pressed", "aria-label"].forEach((name) => to[place]?.removeAttribute(name));
  });
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const paper = getComputedStyle(document.body).backgroundColor;
  const written = new XMLSerializer().serializeToString(copy);
  return written.replace(">", `><title>${escaped(title)}</title><rect width="100%" height="100%" fill="${paper}"/>`);
}
