// The script of the site. Pages work without it; it adds search while typing, keys, copying, the bag, the customisation
// of icons and the choice of a theme.
import { doc, find, store, stored } from './page';
import './search';
import './copy';
import './bag';
import './icon';
import './recent';

const root = doc.documentElement;
root.classList.add('js'); // shows the controls that need the script

const button = find('#theme')!;
const system = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
const label = () => (button.ariaLabel = isDark() ? 'Light theme' : 'Dark theme');

button.addEventListener('click', () => {
  store('theme', (root.dataset.theme = isDark() ? 'light' : 'dark'));
  label();
});
system.addEventListener('change', label);

/** Shows the theme that was chosen in another tab, or since the browser stored this page to go back to it. */
function follow(): void {
  const theme = stored('theme');
  if (theme === 'dark' || theme === 'light') root.dataset.theme = theme;
  label();
}
addEventListener('storage', follow);
addEventListener('pageshow', follow);
follow();

if (navigator.serviceWorker) {
  addEventListener('load', () => navigator.serviceWorker.register('/sw.js').catch(() => {})); // without a worker the site works, but not offline
}
