"""The report as one HTML file: nothing is fetched, nothing but its own script runs."""

from mgtop.report.html.page import render as render
