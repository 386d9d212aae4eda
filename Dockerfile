# docker build -t bfc-bench . && docker run --rm -v "$PWD/results:/results" bfc-bench run smoke --store /results
FROM python:3.12-slim
RUN useradd --create-home bench && mkdir /results && chown bench /results
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE constraints-cpu.txt ./
COPY bfc_bench bfc_bench
COPY plugins plugins
COPY suites suites
RUN pip install --no-cache-dir -c constraints-cpu.txt . && pip install --no-cache-dir --no-deps neural-tangents==0.6.5 \
 && pip install --no-cache-dir frozendict
USER bench
WORKDIR /home/bench
ENTRYPOINT ["bfc-bench"]
CMD ["--help"]
