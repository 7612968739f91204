#!/usr/bin/env python3
"""Inserts an icon of an iconedge service into the current layer, with licence and credit.

The icon is given by name, by words, or chosen in a window. A failure is one sentence and leaves
the document as it is.
"""
import json
import os
import re
import socket
import threading
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import inkex
from lxml import etree

VERSION = "0.0.0"
DEFAULT_BASE = "http://127.0.0.1:8080"
TIMEOUT = 10  # seconds; no response within it counts as offline
MAX_BODY = 4 << 20  # bytes of one response
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
# The elements that icons have. Scripts, pictures, foreign content and animations are none of them.
ELEMENTS = set(
    "svg g defs symbol use path rect circle ellipse line polyline polygon text tspan title desc "
    "clipPath mask pattern linearGradient radialGradient stop filter".split()
)
LOCAL_URL = re.compile(r"url\(\s*[\"']?#([^\s\"'()\\]+)[\"']?\s*\)")


class Failure(Exception):
    """A sentence for the user."""


def is_key(text):
    return len(text) <= 128 and bool(KEY.match(text))


def line(text):
    """Returns a text of the API as one line, without control characters and turns of direction."""
    turns = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    plain = (" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in turns else c for c in str(text or ""))
    return " ".join("".join(plain).split())


def seconds_of(headers):
    """Returns the seconds of a Retry-After; without one, the minute of the service's limits."""
    value = headers.get("Retry-After") or ""
    return min(max(int(value), 1), 3600) if value.isdigit() and len(value) < 9 else 60


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token elsewhere."""

    def redirect_request(self, *_):
        return None


class Service:
    """The API at one address. After a 429 it makes no request of that class until it may."""

    def __init__(self, base=""):
        own = (os.environ.get("ICONEDGE_API") or DEFAULT_BASE).rstrip("/")
        self.base = (base or own).strip().rstrip("/")
        parts = urllib.parse.urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise Failure("The service must be an http or https address without a query, such as http://127.0.0.1:8080.")
        # The token is that of the address in the environment, and goes nowhere else.
        own_parts = urllib.parse.urlsplit(own)
        same = (parts.scheme, parts.netloc) == (own_parts.scheme, own_parts.netloc)
        self.token = (os.environ.get("ICONEDGE_LICENSE_TOKEN") or "").strip() if same else ""
        self.opener = urllib.request.build_opener(NoRedirect)
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.folder = os.path.join(cache, "iconedge")
        self.cdn = (os.environ.get("ICONEDGE_CDN") or self.base).rstrip("/")
        self.searches = {}

    def limited_file(self, kind):
        return os.path.join(self.folder, "limited-" + kind)

    def check_limit(self, kind):
        try:
            left = os.stat(self.limited_file(kind)).st_mtime - time.time()
        except OSError:
            return  # there is none
        if 0 < left <= 3600:
            raise Failure(f"The icon service's rate limit is reached; retry in {int(left) + 1} seconds.")

    def limit(self, kind, seconds):
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with open(self.limited_file(kind), "wb"):
                pass
            until = time.time() + seconds
            os.utime(self.limited_file(kind), (until, until))
        except OSError:
            pass  # later processes do not know it

    def call(self, kind, path, what):
        """Returns the decoded response to GET {api}/path."""
        self.check_limit(kind)
        headers = {"User-Agent": "iconedge-inkscape/" + VERSION, "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self.base + "/api/v1/" + path, headers=headers)
        try:
            with self.opener.open(request, timeout=TIMEOUT) as response:
                body = response.read(MAX_BODY + 1)
        except urllib.error.HTTPError as error:
            raise self.failure(kind, error, what) from None
        except (socket.timeout, TimeoutError):
            raise Failure("The icon service did not answer in time; try again.") from None
        except (OSError, ValueError, urllib.error.URLError) as error:
            if isinstance(getattr(error, "reason", None), (socket.timeout, TimeoutError)):
                raise Failure("The icon service did not answer in time; try again.") from None
            raise Failure("The icon service could not be reached; check the setting base (ICONEDGE_API), or try again later.") from None
        except Exception:  # http.client has errors of its own for broken responses
            raise Failure("The icon service ended its response early; try again.") from None
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or len(body) > MAX_BODY:
            raise Failure("The icon service returned an invalid response; try again later.")
        return answer

    def failure(self, kind, error, what):
        if error.code == 404:
            return Failure(what + " was not found." + self.close_names(error))
        if error.code == 410:
            return Failure(what + " is withdrawn: the operator of the icon service no longer offers it.")
        if error.code == 429:
            seconds = seconds_of(error.headers)
            self.limit(kind, seconds)
            return Failure(f"The icon service's rate limit is reached; retry in {seconds} seconds.")
        if error.code in (401, 403):
            return Failure("The icon service did not accept the license token in ICONEDGE_LICENSE_TOKEN.")
        return Failure(f"The icon service failed with status {error.code}; try again later.")

    def close_names(self, error):
        try:
            names = json.loads(error.read(MAX_BODY)).get("suggestions", [])
        except (ValueError, AttributeError, OSError):
            return ""
        names = [n for n in names if isinstance(n, str) and all(is_key(part) for part in n.split("/", 1))]
        return " Close names: " + ", ".join(names[:5]) + "." if names else ""

    def search(self, words):
        """Returns the hits for words; the same words within five minutes make no request."""
        words = line(words)
        known = self.searches.get(words)
        if known and time.time() - known[0] < 300:
            return known[1]
        if not 2 <= len(words) <= 200:
            raise Failure("Type at least two letters, and at most 200.")
        answer = self.call("search", "search?" + urllib.parse.urlencode({"q": words, "limit": 50}), "The search")
        hits = answer.get("results")
        if not isinstance(hits, list):
            raise Failure("The icon service returned an invalid response; try again later.")
        hits = [h for h in hits if isinstance(h, dict) and is_key(str(h.get("pack", ""))) and is_key(str(h.get("name", "")))]
        self.searches[words] = (time.time(), hits)
        return hits

    def icon(self, pack, name, color=""):
        path = f"icon/{pack}/{name}" + ("?" + urllib.parse.urlencode({"color": color}) if color else "")
        answer = self.call("icon", path, f"Icon {pack}/{name}")
        if not isinstance(answer.get("svg"), str) or not answer.get("license") or not isinstance(answer.get("metadata"), dict):
            raise Failure("The icon service returned an invalid response; try again later.")
        return answer

    def picture(self, pack, name):
        """Returns an icon from the CDN as rows show it, or None."""
        request = urllib.request.Request(f"{self.cdn}/{pack}/{name}.svg", headers={"User-Agent": "iconedge-inkscape/" + VERSION})
        try:
            with self.opener.open(request, timeout=TIMEOUT) as response:
                svg = response.read(MAX_BODY).decode()
            parse(svg)
        except Exception:  # pylint: disable=broad-except
            return None  # the row stands without a picture
        return svg.replace("currentColor", "#808080").encode()


class Pace:
    """Decides when a search as you type starts; clients/testdata/pace.json has its cases."""

    DELAY, SHORTEST, MOST, WINDOW, REPEAT = 0.25, 2, 30, 60, 300

    def __init__(self):
        self.text, self.pending, self.due, self.blocked = "", False, 0.0, 0.0
        self.started, self.answered = [], {}

    def type(self, now, text):
        """Notes a key, and reports whether the response to the text is known."""
        self.text, self.due = text.strip(), now + self.DELAY
        known = self.text in self.answered and now - self.answered[self.text] < self.REPEAT
        self.pending = not known and len(self.text) >= self.SHORTEST
        return known

    def wake(self):
        """Returns the time at which to call start, or None."""
        if not self.pending:
            return None
        full = len(self.started) == self.MOST
        return max(self.due, self.blocked, self.started[0] + self.WINDOW if full else 0)

    def start(self, now):
        """Returns the text of a search whose time has come, or None."""
        at = self.wake()
        if at is None or now < at:
            return None
        self.pending = False
        self.started = (self.started + [now])[-self.MOST :]
        return self.text

    def done(self, now, text):
        """Notes a response, and reports whether it is to be shown."""
        self.answered[text] = now
        return text == self.text

    def limited(self, now, wait):
        self.blocked = max(self.blocked, now + wait)


def parse(svg):
    """Returns the root of an SVG that runs nothing and loads nothing, or raises a Failure."""
    unsafe = Failure("The icon service returned an SVG that is not safe to use.")
    if len(svg) > MAX_BODY or "<!DOCTYPE" in svg or "<!ENTITY" in svg:
        raise unsafe
    try:
        root = etree.fromstring(svg.encode(), etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True))
    except (etree.XMLSyntaxError, ValueError):
        raise unsafe from None
    if root.tag != f"{{{SVG}}}svg":
        raise unsafe
    for node in root.iter():
        tag = etree.QName(node)
        if tag.namespace != SVG or tag.localname not in ELEMENTS and not tag.localname.startswith("fe"):
            raise unsafe
        for key, value in node.attrib.items():
            name = etree.QName(key)
            if name.localname.lower().startswith("on") or name.namespace not in (None, XLINK):
                raise unsafe
            if name.localname == "href" and not re.fullmatch(r"#[^\s\"'()\\]+", value.strip()):
                raise unsafe
            rest = LOCAL_URL.sub("", value).lower()
            if "url(" in rest or "script:" in rest or "@import" in rest or "\\" in rest:
                raise unsafe
    return root


def box(root):
    """Returns x, y, width and height of an icon in its own units."""
    try:
        x, y, width, height = (float(n) for n in root.get("viewBox", "").replace(",", " ").split())
    except ValueError:
        try:
            x, y, width, height = 0, 0, float(root.get("width")), float(root.get("height"))
        except (TypeError, ValueError):
            raise Failure("The icon service returned an SVG without a size.") from None
    if not (0 < width < 1e6 and 0 < height < 1e6 and abs(x) < 1e6 and abs(y) < 1e6):
        raise Failure("The icon service returned an SVG without a size.")
    return x, y, width, height


def rename(root, taken):
    """Gives the ids of an icon names that the document does not have."""
    names = {}
    for node in root.iter():
        old = node.get("id")
        if old is None:
            continue
        number = 1
        while f"icon{number}" in taken:
            number += 1
        names[old] = f"icon{number}"
        taken.add(names[old])
        node.set("id", names[old])
    for node in root.iter():
        for key, value in node.attrib.items():
            if etree.QName(key).localname == "href" and value.strip()[1:] in names:
                node.set(key, "#" + names[value.strip()[1:]])
            elif "url(" in value:
                node.set(key, LOCAL_URL.sub(lambda m: f"url(#{names.get(m.group(1), m.group(1))})", value))


def credit(ref, answer):
    text = f"{ref}: license {line(answer['license'])}; attribution: {line(answer['metadata'].get('attribution'))}"
    return text if commercial(answer) else text + "; non-commercial use only"


def commercial(answer):
    return answer["metadata"].get("commercial_use") is True


def choose(service):
    """Lets the user search and choose an icon in a window; returns PACK/NAME, or None."""
    try:
        import gi  # pylint: disable=import-outside-toplevel

        gi.require_version("Gtk", "3.0")
        from gi.repository import Gtk  # pylint: disable=import-outside-toplevel
    except (ImportError, ValueError):
        raise Failure("The window needs GTK 3 for Python; enter PACK/NAME or words as icon.") from None
    if not Gtk.init_check(None)[0]:
        raise Failure("There is no display for the window; enter PACK/NAME or words as icon.")
    return Window(service).run()


class Window:
    """A search field, a list of icons, and a line with the state. The keyboard does everything."""

    def __init__(self, service):
        from gi.repository import GdkPixbuf, GLib, Gtk  # pylint: disable=import-outside-toplevel

        self.gtk, self.glib, self.pixbuf = Gtk, GLib, GdkPixbuf
        self.service, self.pace, self.chosen, self.accepted = service, Pace(), None, False
        self.pictures, self.pool, self.window = {}, ThreadPoolExecutor(4), Gtk.Dialog(title="Insert Icon")
        self.window.set_default_size(480, 480)
        self.entry, self.list, self.status = Gtk.SearchEntry(), Gtk.ListBox(), Gtk.Label(xalign=0)
        self.entry.set_placeholder_text("Search icons")
        self.status.set_line_wrap(True)
        scrolled = Gtk.ScrolledWindow(vexpand=True)
        scrolled.add(self.list)
        for widget in (self.entry, scrolled, self.status):
            self.window.get_content_area().add(widget)
        self.entry.connect("changed", self.typed)
        self.entry.connect("activate", self.enter)
        self.list.connect("row-activated", lambda _, row: self.choose(row))
        self.tell("Type at least two letters.")

    def run(self):
        self.window.show_all()
        self.window.run()  # until choose answers, Escape or the window's button
        self.window.destroy()
        self.pool.shutdown(wait=False, cancel_futures=True)
        return self.chosen

    def tell(self, text):
        self.status.set_text(text)

    def typed(self, _):
        text = line(self.entry.get_text())
        if self.pace.type(time.monotonic(), text):
            self.show(self.service.search(text))  # from memory
        elif self.pace.wake() is not None:
            self.later()

    def later(self):
        at = self.pace.wake()
        if at is not None:
            self.glib.timeout_add(max(1, int((at - time.monotonic()) * 1000) + 1), self.start)

    def start(self):
        text = self.pace.start(time.monotonic())
        if text is not None:
            self.tell("Searching …")
            threading.Thread(target=self.search, args=(text,), daemon=True).start()
        return False

    def search(self, text):
        try:
            hits, failure = self.service.search(text), None
        except Failure as error:
            hits, failure = None, str(error)
        self.glib.idle_add(self.answer, text, hits, failure)

    def answer(self, text, hits, failure):
        if failure:
            self.tell(failure)  # the last rows stay, and the next key tries again
        elif self.pace.done(time.monotonic(), text):
            self.show(hits)

    def show(self, hits):
        for row in self.list.get_children():
            self.list.remove(row)
        for hit in hits:
            self.list.add(self.row(hit))
        self.list.show_all()
        self.list.select_row(self.list.get_row_at_index(0))
        self.tell(f"{len(hits)} icons. Enter inserts the selected one." if hits else "No icon was found; try other words.")

    def row(self, hit):
        ref, licence = f"{hit['pack']}/{hit['name']}", line(hit.get("license"))
        row, content, image = self.gtk.ListBoxRow(), self.gtk.Box(spacing=12), self.gtk.Image(width_request=32, height_request=32)
        row.ref, row.free, row.licence = ref, hit.get("commercial_use") is True, licence
        content.add(image)
        content.add(self.gtk.Label(label=f"{ref}  {licence}" + ("" if row.free else ", non-commercial"), xalign=0))
        row.add(content)
        if ref in self.pictures:
            image.set_from_pixbuf(self.pictures[ref])
        else:
            self.pool.submit(lambda: self.glib.idle_add(self.draw, image, ref, self.service.picture(hit["pack"], hit["name"])))
        return row

    def draw(self, image, ref, svg):
        try:
            loader = self.pixbuf.PixbufLoader.new_with_type("svg")
            loader.set_size(32, 32)
            loader.write(svg)
            loader.close()
            image.set_from_pixbuf(self.pictures.setdefault(ref, loader.get_pixbuf()))
        except (self.glib.Error, TypeError):
            pass  # the row stands without a picture

    def enter(self, _):
        row = self.list.get_selected_row()
        if row is not None:
            self.choose(row)

    def choose(self, row):
        if not row.free and not self.accepted:
            self.accepted = True
            self.tell(f"{row.ref} is licensed {row.licence}: non-commercial use only. Enter again inserts it.")
            return
        self.chosen = row.ref
        self.window.response(self.gtk.ResponseType.OK)


def above(node):
    """Returns the transform of a node and those around it. inkex's own would rewrite the attributes."""
    transform = inkex.Transform()
    while node is not None:
        transform, node = inkex.Transform(node.attrib.get("transform")) @ transform, node.getparent()
    return transform


class InsertIcon(inkex.EffectExtension):
    """The extension org.iconedge.insert."""

    def add_arguments(self, pars):
        pars.add_argument("--icon", default="")
        pars.add_argument("--size", type=float, default=48)
        pars.add_argument("--color", default="")
        pars.add_argument("--base", default="")

    def effect(self):
        try:
            return self.insert()
        except Failure as failure:
            raise inkex.AbortExtension(str(failure)) from None

    def insert(self):
        options, service = self.options, Service(self.options.base)
        color = (options.color or "").strip().lstrip("#")
        if color and not re.fullmatch(r"[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8}", color):
            raise Failure("color must be a hex colour, such as #ff0000 or #f00.")
        if not 1 <= options.size <= 4096:
            raise Failure("size must be a number from 1 to 4096.")
        wanted = (options.icon or "").strip() or choose(service)
        if not wanted:
            return False  # the user has closed the window
        pack, name = self.find(service, wanted)
        answer = service.icon(pack, name, "#" + color if color else "")
        self.place(f"{pack}/{name}", answer, parse(answer["svg"]))
        if not commercial(answer):
            inkex.errormsg(f"{pack}/{name} is licensed {line(answer['license'])}: non-commercial use only.")
        return True

    @staticmethod
    def find(service, wanted):
        """Returns pack and name: those that were given, or those of the first hit for words."""
        pack, slash, name = wanted.partition("/")
        if slash and not (is_key(pack) and is_key(name)):
            raise Failure("An icon is PACK/NAME in lower-case letters, digits and single hyphens, such as mdi/home.")
        if slash:
            return pack, name
        hits = service.search(wanted)
        if not hits:
            raise Failure("No icon was found; try other words.")
        return hits[0]["pack"], hits[0]["name"]

    def place(self, ref, answer, icon):
        """Adds the icon to the current layer, its middle at the middle of the view."""
        layer = self.svg.get_current_layer()
        x, y, width, height = box(icon)
        scale = self.options.size / height
        middle = (-above(layer)).apply_to_point(self.svg.namedview.center)
        left, top = middle.x - (x + width / 2) * scale, middle.y - (y + height / 2) * scale
        rename(icon, set(self.document.getroot().xpath("//@id")))
        group = inkex.Group()
        group.set("inkscape:label", ref)
        group.set("transform", f"translate({left:.6g},{top:.6g}) scale({scale:.6g})")
        for key, value in icon.attrib.items():
            if etree.QName(key).localname not in ("width", "height", "viewBox", "id", "version", "x", "y", "preserveAspectRatio"):
                group.set(key, value)
        desc = etree.SubElement(group, f"{{{SVG}}}desc")
        desc.text = credit(ref, answer)
        for child in list(icon):
            group.append(child)
        layer.append(group)


if __name__ == "__main__":
    InsertIcon().run()
