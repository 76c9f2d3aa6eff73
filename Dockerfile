# openwork with the CPU build of torch. What it runs by default is the demo:
#   docker build -t openwork . && docker run --rm -it openwork
FROM python:3.13-slim

WORKDIR /opt/openwork
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY src src
COPY recipes recipes
# torch comes first and alone, as in the Makefile: together with the rest, pip would take the CUDA build.
RUN pip install --no-cache-dir --no-deps torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu \
    && pip install --no-cache-dir -c constraints.txt .

RUN useradd --create-home --uid 1000 user
USER 1000
WORKDIR /home/user
ENTRYPOINT ["openwork"]
CMD ["demo"]
