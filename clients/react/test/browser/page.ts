import { createElement as h, StrictMode } from 'react';
import { Icon } from '@iconedge/react';

/** What is rendered on a server and hydrated in a browser. */
export const page = () =>
  h(
    StrictMode,
    null,
    h(Icon, { pack: 'a', name: 'b', size: 48, className: 'c' }),
    h(Icon, { pack: 'a', name: 'b', title: '<b> & "c"' }),
    h(Icon, { pack: 'a', name: 'b', color: '"><script>' }),
  );
