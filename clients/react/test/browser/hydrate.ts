import { kit } from './kit';
import { page } from './page';

declare global {
  var hydrate: (base: string) => void;
  var recovered: string[];
}

globalThis.recovered = [];
globalThis.hydrate = (base) => {
  kit.configureIcons({ base });
  kit.hydrateRoot(document.getElementById('root')!, page(), {
    onRecoverableError: (error) => recovered.push(String(error)),
  });
};
