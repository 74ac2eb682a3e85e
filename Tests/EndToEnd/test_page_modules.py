"""The files of the pages: typed, small, and from nowhere but this gateway."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, GatewayTest

TSC = shutil.which("tsc")
SOURCES = ROOT / "Sources"
#: Where each folder's files are served.
FOLDERS = {
    "pages": [SOURCES / "Gateway" / "Pages" / "Base"],
    "client": [SOURCES / "BrowserClient" / "Client", SOURCES / "BrowserClient" / "Demonstration"],
    "account": [SOURCES / "BrowserClient" / "Account"],
    "chat": [SOURCES / "ChatPage" / "Files"],
    "docs": [SOURCES / "Explorer" / "Files"],
}
LARGEST = 200_000
PAGES = ("/client/", "/account/", "/chat/", "/docs/")
LOADED = re.compile(r"""(?:(?:src|href)=|from\s*|import\s*\(?)["']([^"'#]+)["']""")


def check_types(folder):
    """What TypeScript finds in the modules of all pages, copied to a folder."""
    names = []
    for name, sources in FOLDERS.items():
        for path in (path for source in sources for path in source.glob("*.js")):
            copy = folder / name / path.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(re.sub(rf'"/({"|".join(FOLDERS)})/', r'"../\1/', path.read_text()))
            # A service worker's globals are others than a page's.
            if path.name != "worker.js":
                names.append(f"{name}/{path.name}")
    (folder / "docs" / "error-codes.js").write_text(
        "export default /** @type {Record<string, {status: number, meaning: string, caller: string}>} */ ({});")
    done = subprocess.run(
        [TSC, "--noEmit", "--allowJs", "--checkJs", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node",
         "--lib", "es2022,dom,dom.iterable", "--skipLibCheck", *names],
        cwd=folder, capture_output=True, text=True, timeout=300)
    return done.stdout.splitlines()


class Files(GatewayTest):
    def loaded(self, path, known=None):
        """The path's bytes and those of everything that it loads."""
        known = {} if known is None else known
        if path in known:
            return known
        answer = self.expect(self.gateway.get(path), 200)
        known[path] = answer.body
        if "html" in answer.headers["content-type"] or "javascript" in answer.headers["content-type"]:
            # What is made of other texts is a program that is shown.
            for found in [one for one in LOADED.findall(answer.text()) if "${" not in one]:
                following = found if found.startswith("/") else str(pathlib.PurePosixPath(path if path.endswith("/") else path.rsplit("/", 1)[0]) / found)
                if following.endswith((".js", ".css")):
                    self.loaded(following, known)
        return known

    def test_a_page_with_all_that_it_loads_is_small(self):
        for path in PAGES:
            files = self.loaded(path)
            self.assertIn("/pages/base.css", files)
            self.assertGreater(len(files), 5, files.keys())
            self.assertLess(sum(map(len, files.values())), LARGEST, path)
        self.assertLess(len(self.gateway.get("/", "text/html").body), LARGEST)

    def test_nothing_is_loaded_from_elsewhere_and_no_text_is_a_script(self):
        for path in PAGES:
            policy = self.gateway.get(path).headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            for name, body in self.loaded(path).items():
                self.assertEqual(re.findall(rb"""(?:src|href|from|import)[ =(]+["']?https?://""", body), [], name)
                self.assertEqual(re.findall(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", body), [], name)
                if name.endswith("/"):
                    self.assertEqual(re.findall(rb"<script>| style=| on[a-z]+=", body), [], name)

    def test_every_file_of_the_folders_is_served(self):
        for address, folders in FOLDERS.items():
            for path in (path for folder in folders for path in folder.iterdir()):
                name = "" if path.suffix == ".html" else path.name
                self.assertEqual(self.expect(self.gateway.get(f"/{address}/{name}"), 200).body, path.read_bytes())


class Types(unittest.TestCase):
    @unittest.skipUnless(TSC, "this machine has no TypeScript compiler")
    def test_the_modules_of_all_pages_and_of_the_client_pass_the_type_check(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-pages-"))
        self.addCleanup(shutil.rmtree, folder)
        self.assertEqual(check_types(folder), [])


if __name__ == "__main__":
    unittest.main()
