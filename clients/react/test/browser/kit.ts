import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot, hydrateRoot } from 'react-dom/client';
import { configureIcons, Icon } from '@iconedge/react';

/** The imports of the tests' pages: the built package, and the React of the bundle. */
export const kit = { ...React, h: React.createElement, flushSync, createRoot, hydrateRoot, configureIcons, Icon };

declare global {
  var kit: typeof import('./kit').kit;
  var reports: string[];
  var shifts: number;
}

globalThis.kit = kit;
globalThis.reports = [];
globalThis.shifts = 0;
document.addEventListener('securitypolicyviolation', (e) => reports.push(`${e.violatedDirective} ${e.blockedURI}`));
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) shifts += (entry as PerformanceEntry & { value: number }).value;
}).observe({ type: 'layout-shift', buffered: true });
