// The service worker shows pages that were seen before when there is no network. It handles navigations to pages of the
// site and the site's own files; icons and the API never pass through it.
interface WorkerScope {
  addEventListener(type: 'install' | 'activate', handler: (event: { waitUntil(done: Promise<unknown>): void }) => void): void;
  addEventListener(type: 'fetch', handler: (event: { request: Request; respondWith(response: Promise<Response>): void; waitUntil(done: Promise<unknown>): void }) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
}

const scope = self as unknown as WorkerScope;
const most = 150; // stored pages and files
const pages = /^\/($|search$|packs$|bag$|pack\/[^/.]+$|icon\/[^/.]+\/[^/.]+$)/;

scope.addEventListener('install', (event) => {
  event.waitUntil(caches.open('site').then((cache) => cache.add('/')).then(() => scope.skipWaiting()));
});

scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()));

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
  if (request.method !== 'GET' || origin !== location.origin || !(file || (request.mode === 'navigate' && pages.test(pathname)))) return;
  event.respondWith(
    fetch(request).then(
      (response) => {
        if (response.status === 200) event.waitUntil(save(request, response.clone()));
        return response;
      },
      async () => (await caches.match(request)) ?? (file ? undefined : await caches.match('/')) ?? Response.error(),
    ),
  );
});
