"""The tests of iconedge.py without Inkscape, on Inkscape's module inkex: python3 -m unittest."""
import http.server
import io
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), os.environ.get("INKEX", "/usr/share/inkscape/extensions")]
import iconedge  # noqa: E402

from lxml import etree  # noqa: E402

HOME = '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none"><defs><g id="a"/></defs><path id="b" fill="currentColor" d="M0 0h24v24z"/><use href="#a"/><path mask="url(#b)" d="M0 0"/></svg>'
DOCUMENT = """<?xml version="1.0"?>
<!-- kept --><svg xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" xmlns:sodipodi="http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd" width="100" height="100" viewBox="0 0 100 100">
<sodipodi:namedview inkscape:cx="50" inkscape:cy="40" inkscape:current-layer="layer1"/>
<g inkscape:groupmode="layer" id="layer1" transform="translate(10,0) scale(2)"><rect id="icon1" width="3" height="3"/></g></svg>"""


def icon(svg=HOME, **more):
    return {"svg": svg, "license": "Apache-2.0", "metadata": {"commercial_use": True, "attribution": "Icons by A --> \n<b>\u202e"}, **more}


class API(http.server.BaseHTTPRequestHandler):
    asked, answers = [], {}

    def do_GET(self):
        API.asked.append((self.path, self.headers["Authorization"]))
        status, body, headers = API.answers.get(self.path.split("?")[0], (404, b'{"suggestions":["home","<x>"]}', {}))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_):
        pass


class Case(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), API)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        environment = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": cache.name, "ICONEDGE_API": self.base, "ICONEDGE_LICENSE_TOKEN": "iel_secret"})
        environment.start()
        self.addCleanup(environment.stop)
        API.asked, API.answers = [], {
            "/api/v1/icon/mdi/home": (200, icon(), {}),
            "/api/v1/search": (200, {"results": [{"pack": "../x", "name": "y"}, {"pack": "mdi", "name": "home"}]}, {}),
        }

    def run_extension(self, *args):
        """Returns the new document, or None, and the messages."""
        with tempfile.TemporaryDirectory() as folder:
            source, out = os.path.join(folder, "in.svg"), os.path.join(folder, "out.svg")
            pathlib.Path(source).write_text(DOCUMENT)
            errors, status = io.StringIO(), 0
            with mock.patch("sys.stderr", errors):
                try:
                    iconedge.InsertIcon().run([*args, "--output=" + out, source])
                except SystemExit as end:
                    status = end.code
            made = pathlib.Path(out)
            text = made.read_bytes() if made.exists() else None
            self.assertEqual(text is None, status != 0, errors.getvalue())
            return text, errors.getvalue().strip()


class Insert(Case):
    def test_insert(self):
        text, errors = self.run_extension("--icon=mdi/home", "--size=12")
        self.assertEqual(errors, "")
        root = etree.fromstring(text)
        group = root.find(".//{*}g[@{http://www.inkscape.org/namespaces/inkscape}label='mdi/home']")
        self.assertEqual(group.getparent().get("id"), "layer1")
        # The layer doubles and moves: the middle (50, 40) of the view is (20, 20) in it.
        self.assertEqual(group.get("transform"), "matrix(0.5 0 0 0.5 14 14)")
        self.assertEqual(group.get("fill"), "none")
        self.assertEqual(group[0].text, "mdi/home: license Apache-2.0; attribution: Icons by A --> <b>")
        ids = root.xpath("//@id")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual([n.get("href") or n.get("mask") for n in group.iter() if n.get("href") or n.get("mask")], ["#icon2", "url(#icon3)"])
        group.getparent().remove(group)
        canonical = lambda data: etree.tostring(etree.fromstring(data), method="c14n2", strip_text=False)
        self.assertEqual(canonical(etree.tostring(root)), canonical(DOCUMENT.encode()))
        self.assertEqual(API.asked, [("/api/v1/icon/mdi/home", "Bearer iel_secret")])

    def test_words(self):
        text, _ = self.run_extension("--icon=little house", "--color=F00")
        self.assertIn(b"mdi/home", text)
        self.assertEqual([path for path, _ in API.asked], ["/api/v1/search?q=little+house&limit=50", "/api/v1/icon/mdi/home?color=%23F00"])

    def test_non_commercial(self):
        answer = icon()
        answer["metadata"]["commercial_use"] = False
        API.answers["/api/v1/icon/mdi/home"] = (200, answer, {})
        text, errors = self.run_extension("--icon=mdi/home")
        self.assertIn(b"non-commercial use only</", text)
        self.assertIn("non-commercial", errors)

    def test_failures(self):
        for about, answer, says in (
            ("404", (404, b'{"suggestions":["home","<x>"]}', {}), "Icon mdi/home was not found. Close names: home."),
            ("410", (410, b"", {}), "withdrawn"),
            ("500", (500, b"<html>", {}), "status 500"),
            ("a redirect", (302, b"", {"Location": "http://127.0.0.1:1/"}), "status 302"),
            ("HTML", (200, b"<html>", {}), "invalid response"),
            ("half a JSON", (200, b'{"svg":"<sv', {}), "invalid response"),
            ("JSON of something else", (200, b"{}", {}), "invalid response"),
            ("a response that ends early", (200, b"{", {"Content-Length": "500"}), "invalid response"),
            ("script", (200, icon(HOME.replace("<defs>", "<script>1</script><defs>")), {}), "not safe"),
            ("an event", (200, icon(HOME.replace("<path", '<path onload="x"')), {}), "not safe"),
            ("an external reference", (200, icon(HOME.replace("#a", "http://x/y")), {}), "not safe"),
            ("an external style", (200, icon(HOME.replace("url(#b)", "url(http://x)")), {}), "not safe"),
            ("an entity", (200, icon('<!DOCTYPE svg [<!ENTITY a "b">]>' + HOME), {}), "not safe"),
            ("no SVG", (200, icon("<p/>"), {}), "not safe"),
            ("no size", (200, icon('<svg xmlns="http://www.w3.org/2000/svg"/>'), {}), "without a size"),
        ):
            with self.subTest(about):
                API.answers["/api/v1/icon/mdi/home"] = answer
                text, errors = self.run_extension("--icon=mdi/home")
                self.assertIsNone(text)
                self.assertIn(says, errors)
                self.assertNotIn("Traceback", errors)
                self.assertEqual(errors.count("\n"), 0)

    def test_wrong_settings(self):
        for args in (["--icon=../x/y"], ["--icon=mdi/home?x"], ["--icon=mdi/home", "--color=red"], ["--icon=mdi/home", "--size=0"], ["--icon=mdi/home", "--base=file:///etc"], ["--icon=x"]):
            with self.subTest(args):
                text, errors = self.run_extension(*args)
                self.assertIsNone(text)
                self.assertEqual(errors.count("\n"), 0, errors)
        self.assertEqual(API.asked, [])

    def test_limit(self):
        API.answers["/api/v1/icon/mdi/home"] = (429, b"", {"Retry-After": "40"})
        _, first = self.run_extension("--icon=mdi/home")
        _, second = self.run_extension("--icon=mdi/home")
        self.assertIn("retry in 40 seconds", first)
        self.assertIn("rate limit", second)
        self.assertEqual(len(API.asked), 1)

    def test_token_goes_to_its_address_alone(self):
        os.environ["ICONEDGE_API"] = "http://127.0.0.1:1"
        self.run_extension("--icon=mdi/home", "--base=" + self.base)
        self.assertEqual(API.asked, [("/api/v1/icon/mdi/home", None)])
        _, errors = self.run_extension("--icon=mdi/home")
        self.assertIn("ICONEDGE_API", errors)


class Table(unittest.TestCase):
    def test_pace(self):
        rows = json.loads((HERE.parents[1] / "testdata" / "pace.json").read_text())["rows"]
        self.assertGreater(len(rows), 9)
        for row in rows:
            with self.subTest(row["about"]):
                requests, shown = play(row)
                self.assertEqual(requests, row["requests"])
                if "shown" in row:
                    self.assertEqual(shown, row["shown"])


def play(row):
    pace, keys, answers, requests, shown = iconedge.Pace(), list(row["keys"]), [], [], []
    while True:
        times = [keys[0][0]] if keys else []
        times += [answers[0][0]] if answers else []
        times += [round(pace.wake() * 1000)] if pace.wake() is not None else []
        if not times:
            return requests, shown
        ms = min(times)
        while answers and answers[0][0] == ms:
            _, text, how = answers.pop(0)
            if how.get("status", 200) == 200 and pace.done(ms / 1000, text):
                shown.append(text)
            elif how.get("status") == 429:
                pace.limited(ms / 1000, how["retry_after"])
        while keys and keys[0][0] == ms:
            pace.type(ms / 1000, keys.pop(0)[1])
        text = pace.start(ms / 1000 + 1e-9)
        if text is not None:
            requests.append([ms, text])
            how = row.get("answers", {}).get(text, {})
            answers = sorted(answers + [(ms + how.get("after", 50), text, how)], key=lambda a: a[0])


if __name__ == "__main__":
    unittest.main()
