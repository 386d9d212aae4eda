# docker build -t bfc-bench . && docker run --rm -v "$PWD/results:/results" bfc-bench run smoke --store /results
# With --user "$(id -u):$(id -g)" results belong to you; any user may run it, whether or not the image knows that user.
FROM python:3.12-slim
RUN useradd --create-home bench && mkdir /results && chmod 1777 /results /home/bench
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE constraints-cpu.txt ./
COPY .ci/install.py .ci/
COPY bfc_bench bfc_bench
COPY plugins plugins
COPY suites suites
RUN pip install --no-cache-dir uv && export UV_SYSTEM_PYTHON=1 UV_NO_CACHE=1 \
 && python .ci/install.py --compile-bytecode ".[all]" frozendict \
 && python .ci/install.py --compile-bytecode --no-deps neural-tangents==0.6.5
# A user whom the image does not know has no entry in /etc/passwd: programs look here for home and name first.
ENV HOME=/home/bench USER=bench
USER bench
WORKDIR /home/bench
ENTRYPOINT ["bfc-bench"]
CMD ["--help"]
