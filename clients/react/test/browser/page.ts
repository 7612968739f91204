import { createElement as h, StrictMode } from 'react';
import { Icon } from '@iconedge/react';

/** The page that a server renders and a browser hydrates. */
export const page = () =>
  h(
    StrictMode,
    null,
    h(Icon, { pack: 'a', name: 'b', size: 48, className: 'c' }),
    h(Icon, { pack: 'a', name: 'b', title: '<b> & "c"' }),
    h(Icon, { pack: 'a', name: 'b', color: '"><script>' }),
  );
