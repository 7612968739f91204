// An icon as a picture, for hosts that take one: it is apart from the core, because editors take only text.
import { Fault, limited, retryAfter, type Client } from './client';
import { write, type Icon } from './output';

const reasons: { [status: number]: string } = {
  422: "can't be drawn as a picture; use its SVG.",
  404: 'was not found.',
  410: 'is withdrawn.',
};

/** Returns an icon as PNG from the CDN, in the colour and size of the settings. */
export async function picture({ host }: Client, icon: Icon, cdn: string): Promise<Blob> {
  const init: RequestInit = { signal: AbortSignal.timeout(10_000), redirect: 'error', credentials: 'omit' };
  const response = await (host.fetch ?? fetch)(write('png', icon, { ...host.settings, cdn }), init).catch(() => {
    throw new Fault('The icon service could not be reached; try again later.');
  });
  const { status } = response;
  if (status === 200) return response.blob();
  if (status === 429) throw limited(retryAfter(response.headers.get('Retry-After')));
  const reason = reasons[status];
  throw new Fault(
    reason ? `Icon ${icon.pack}/${icon.name} ${reason}` : `The icon service failed with status ${status}.`,
    status,
  );
}
