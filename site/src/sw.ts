// The service worker shows pages that were seen before when there is no network. It handles navigations to pages of the
// site and the site's own files; icons and the API never pass through it.
interface WorkerScope {
  addEventListener(type: 'install' | 'activate', handler: (event: { waitUntil(done: Promise<unknown>): void; addRoutes?(rules: unknown): Promise<void> }) => void): void;
  addEventListener(type: 'fetch', handler: (event: { request: Request; respondWith(response: Promise<Response>): void; waitUntil(done: Promise<unknown>): void }) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void>; matchAll(): Promise<{ url: string }[]> };
}

const scope = self as unknown as WorkerScope;
const most = 150; // stored pages and files
const pages = /^\/($|search$|packs$|bag$|pack\/[^/.]+$|icon\/[^/.]+\/[^/.]+$|docs\/)/;
const others = /^\/(-|api|iconify)\/|\./; // no pages: icons, the API, files

/** Stores a page with the files that it loads. */
async function keep(url: string): Promise<void> {
  const cache = await caches.open('site');
  const response = await fetch(url);
  if (response.status !== 200) return;
  await cache.put(url, response.clone());
  await cache.addAll([...new Set((await response.text()).match(/\/-\/site\/[a-z]+\.\w+\.(?:js|css)/g))]);
}

// Where the browser knows routes, it does not even start the worker for icons and the API.
const direct = { condition: { not: { or: [{ requestMode: 'navigate' }, { urlPattern: { pathname: '/-/site/*' } }] } }, source: 'network' };

scope.addEventListener('install', (event) => {
  event.waitUntil(Promise.resolve(event.addRoutes?.([direct])).catch(() => {})); // an earlier form of routes
  event.waitUntil(keep('/').then(() => scope.skipWaiting()));
});

// The page that installed the worker was loaded without it.
scope.addEventListener('activate', (event) =>
  event.waitUntil(
    scope.clients.claim().then(async () => {
      for (const { url } of await scope.clients.matchAll()) if (pages.test(new URL(url).pathname)) await keep(url).catch(() => {});
    }),
  ),
);

async function save(request: Request, response: Response): Promise<void> {
  const cache = await caches.open('site');
  await cache.put(request, response);
  const keys = (await cache.keys()).filter((key) => new URL(key.url).pathname !== '/');
  for (const key of keys.slice(0, Math.max(0, keys.length - most))) await cache.delete(key);
}

scope.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  const file = pathname.startsWith('/-/site/');
  if (request.method !== 'GET' || origin !== location.origin || !(file || (request.mode === 'navigate' && !others.test(pathname)))) return;
  event.respondWith(
    fetch(request).then(
      (response) => {
        if (response.status === 200 && (file || pages.test(pathname))) event.waitUntil(save(request, response.clone()).catch(() => {})); // the storage is full
        return response;
      },
      async () => (await caches.match(request)) ?? (file ? undefined : await caches.match('/')) ?? Response.error(),
    ),
  );
});
