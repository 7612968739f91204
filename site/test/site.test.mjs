// All tests of the site, over one server and in one browser.
import './pages.mjs';
import './bag.mjs';
import './docs.mjs';
import './edges.mjs';
import './former.mjs';
import './snippets.mjs';
