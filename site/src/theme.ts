// The theme that the user chose is set before the page is painted, so that it never shows the other one.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch {
  // The browser refuses storage: the page follows the system.
}
