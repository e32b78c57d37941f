"""The site: `make docs` builds it, without a network, from this folder, the docstrings and the files pages link to."""

import inspect
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "_extensions"), str(Path(__file__).parents[1])]

from docutils import nodes  # noqa: E402
from sphinx_gallery.directives import imgsgnode  # noqa: E402

import dams  # noqa: E402

project = "dams"
author = "The dams developers"
project_copyright = author
version = release = dams.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "repository_files",
]
exclude_patterns = ["_build", "gallery", "generated/gallery/*.ipynb", "examples", "pictures"]
templates_path = ["_templates"]
# Single backticks in docstrings are links where the name has a page, and code where it has none.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "deflist"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("dams",),
    "reference_url": {"dams": None},
    "filename_pattern": r"plot_",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    # A figure is drawn; what its last line returns is not shown beside it.
    "capture_repr": ("_repr_html_",),
    "write_computation_times": False,
    "image_srcset": ["2x"],
}

html_theme = "furo"
html_title = f"dams {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00507d", "color-brand-content": "#00609a"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
html_copy_source = False
html_show_sourcelink = False


def skip_foreign(app, what, name, member, skip, options):
    """Leave out what other libraries document: get_params and set_fit_request, methods of pydantic's models."""
    member = getattr(member, "fget", None) or getattr(member, "func", None) or member  # of a property, cached or not
    module = getattr(inspect.unwrap(member) if callable(member) else member, "__module__", None)
    return True if (module or "").split(".")[0] not in ("", "dams") else None


def let_figures_scroll(app, doctree, page):
    """Put each figure of an example, and each picture of a page, where it can be wider than a phone: see site.css."""
    pictures = [image.parent for image in doctree.findall(nodes.image) if _is_alone_in_a_paragraph(image)]
    for figure in [*doctree.findall(imgsgnode), *pictures]:
        frame = nodes.container(classes=["wide"])
        figure.replace_self(frame)
        frame += figure.children if isinstance(figure, nodes.paragraph) else figure


def _is_alone_in_a_paragraph(image):
    return isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1


def keep_numbers_whole(app, doctree, page):
    """Break no line of a table between a number and its sign of percent or order."""
    for entry in doctree.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            whole = re.sub(r"(?<=\d) (?=%)|(?<=[≤≥]) (?=[−\d])", "\u00a0", text)
            text.parent.replace(text, nodes.Text(whole))


def setup(app):
    """Register the hooks."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("doctree-resolved", let_figures_scroll)
    app.connect("doctree-resolved", keep_numbers_whole)
