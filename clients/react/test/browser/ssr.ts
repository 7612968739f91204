import { renderToString } from 'react-dom/server';
import { configureIcons } from '@iconedge/react';
import { page as element } from './page';

/** Renders the page as a server does. */
export function page(base: string): string {
  configureIcons({ base });
  return renderToString(element());
}
