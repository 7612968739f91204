// A page with Iconify's clients, unchanged but for the address of their icons, as `?api=` gives it.
import { addAPIProvider as react, Icon as ReactIcon } from '@iconify/react';
import { addAPIProvider as vue, Icon as VueIcon } from '@iconify/vue';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { createApp, h } from 'vue';
import { addAPIProvider as element } from 'iconify-icon';

const resources = new URLSearchParams(location.search).getAll('api');
for (const add of [react, vue, element]) add('', { resources });

const names = ['mdi:home', 'mdi:account', 'mdi:no-such-icon', 'mdi:home-outline', 'mdi:heart', 'bi:heart-fill'];
createRoot(document.getElementById('react')).render(names.map((icon) => createElement(ReactIcon, { key: icon, icon, width: 40, color: '#ff0000' })));
createApp({ render: () => names.map((icon) => h(VueIcon, { icon, width: 40, color: '#00ff00' })) }).mount('#vue');
document.getElementById('element').innerHTML = names.map((icon) => `<iconify-icon icon="${icon}" width="40" style="color:#0000ff"></iconify-icon>`).join('');

const drawn = () => [
  document.querySelectorAll('#react svg path').length,
  document.querySelectorAll('#vue svg path').length,
  [...document.querySelectorAll('iconify-icon')].filter((i) => i.shadowRoot?.querySelector('svg path')).length,
];
let waited = 0;
const timer = setInterval(() => {
  const all = drawn().every((n) => n >= names.length - 1);
  if (all || (waited += 1) > 1000) {
    clearInterval(timer);
    document.title = drawn().join(' ');
    document.body.className = all ? 'drawn' : 'late';
  }
}, 20);
