// The scripts of the page: iconify-icon, and icons in React. Both read the address of the icons from
// window.IconifyProviders.
import { Icon } from '@iconify/react';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import 'iconify-icon';

const icons = [
  { icon: 'mdi:home', className: 'red' }, { icon: 'mdi:account', className: 'green' }, { icon: 'mdi:heart', className: 'blue' },
  { icon: 'twemoji:waving-hand' }, { icon: 'mdi:home', flip: 'vertical' },
];
createRoot(document.getElementById('react')).render(icons.map((props, i) => createElement(Icon, { key: i, ...props })));
