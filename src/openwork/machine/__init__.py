"""The machine: device, precision, workers, free memory and disk, speed of matrix products."""
