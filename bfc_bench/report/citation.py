"""BibTeX entries for this program and the papers whose claims it measures."""

from __future__ import annotations

from importlib.metadata import version

PAPERS = """@article{allenzhu2020backward,
  title = {Backward Feature Correction: How Deep Learning Performs Deep Learning},
  author = {Allen-Zhu, Zeyuan and Li, Yuanzhi},
  journal = {arXiv:2001.04413},
  year = {2020}
}
@article{chen2020towards,
  title = {Towards Understanding Hierarchical Learning: Benefits of Neural Representations},
  author = {Chen, Minshuo and Bai, Yu and Lee, Jason D. and Zhao, Tuo and Wang, Huan and Xiong, Caiming and Socher, Richard},
  journal = {arXiv:2006.13436},
  year = {2020}
}"""  # noqa: E501


def citation() -> str:
    """BibTeX entries for this release and both papers."""
    return f"""@software{{bfcbench,
  title = {{bfc-bench}},
  author = {{{{The bfc-bench developers}}}},
  version = {{{version("bfc-bench")}}},
  license = {{Apache-2.0}}
}}
{PAPERS}"""
