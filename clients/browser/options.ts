import { fill, read } from '../picker/form';
import { forget, load, save } from './store';

const field = (id: string) => document.getElementById(id) as HTMLInputElement;
const says = (words: string) => (field('status').textContent = words);

async function submit() {
  const { settings, complaints } = read();
  if (complaints.length) return says(complaints.join(' '));
  // Host access lets requests pass where the service sends no CORS fields; the plugin works without it.
  const { origin } = new URL(settings.baseUrl);
  await chrome.permissions.request({ origins: [origin.replace(/:\d+$/, '') + '/*'] }).catch(() => false);
  await save(settings, field('token').value.trim());
  field('token').value = '';
  return says('The settings are saved.');
}

document.getElementById('settings')!.addEventListener('submit', (event) => {
  event.preventDefault();
  void submit();
});
field('forget').addEventListener('click', () => void forget().then(() => says('The token is deleted.')));
void load().then(({ settings, complaints }) => {
  fill(settings);
  says(complaints.join(' '));
});
