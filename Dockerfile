# rstc on the CPU: docker build --tag rstc .
#   docker run --rm --network none --user "$(id -u)" --volume "$PWD:/data" rstc cluster tickets.csv --out run
# TORCH_BACKEND chooses the build of torch, as in uv (cpu, cu130, ...); empty: the one that pip finds, or that of the
# index that TORCH_INDEX names. tools/check_dockerfile.py runs these steps without a Docker engine.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
ARG TORCH_BACKEND=cpu
ARG TORCH_INDEX=
ENV PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1
WORKDIR /src
COPY pyproject.toml constraints-hashed.txt build-constraints.txt README.md LICENSE NOTICE ./
COPY tools/install.py tools/
COPY src src
RUN python -m venv /opt/rstc && /opt/rstc/bin/python tools/install.py --package . && /opt/rstc/bin/pip uninstall --quiet --yes pip

FROM python:${PYTHON}-slim
COPY --from=build /opt/rstc /opt/rstc
# HOME is for the cache of embeddings, whoever the user is.
ENV PATH=/opt/rstc/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
RUN mkdir /data && chown 1000:1000 /data
WORKDIR /data
USER 1000:1000
ENTRYPOINT ["rstc"]
CMD ["--help"]
