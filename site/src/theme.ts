// The theme that the user chose is set before the page is painted, so that it never shows the other one; and the page of
// the bag is marked as not empty, so that it does not say that it is; home keeps room for the icons used recently.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  for (const key of ['bag', 'recent']) document.documentElement.toggleAttribute('data-' + key, !!localStorage.getItem(key));
} catch {
  // The browser refuses storage: the page follows the system.
}
