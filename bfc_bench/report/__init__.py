"""Reports: figures, tables, HTML pages and PDF files about the results of suites."""
