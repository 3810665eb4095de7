# The command line `amp` on a CPU: docker build -t amp . && docker run --rm -v "$PWD:/work" amp inspect model
# No container engine runs in this project's tests: they run the steps of the last stage as a script.
FROM python:3.12-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends binutils g++ git make
COPY . /source
RUN make -C /source wheel PYTHONS=python3.12 DIST=/wheels

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir /wheels/*.whl
RUN amp demo --quick
USER 1000
WORKDIR /work
ENTRYPOINT ["amp"]
CMD ["--help"]
