import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { configureIcons, Icon } from '@iconedge/react';
import MdiHome from './icons/mdi/home';

// The address of `make run`, unless VITE_CDN is set.
configureIcons({ base: (import.meta as { env?: { VITE_CDN?: string } }).env?.VITE_CDN ?? 'http://127.0.0.1:8080' });

const first = { pack: 'mdi', name: 'rocket-launch', size: '64', color: '#e4572e' };

function Page() {
  const [icon, setIcon] = useState(first);
  return (
    <>
      <h1>
        <MdiHome aria-hidden="true" /> Icons
      </h1>
      {(Object.keys(first) as (keyof typeof first)[]).map((key) => (
        <label key={key}>
          <span>{key}</span>
          <input value={icon[key]} onChange={(event) => setIcon({ ...icon, [key]: event.target.value })} />
        </label>
      ))}
      <p>
        From the CDN: <Icon {...icon} title={`${icon.pack}/${icon.name}`} fallback={<em>there is no such icon</em>} />
      </p>
      <p>
        In the text&apos;s size and colour <Icon pack="mdi" name="format-size" />, with colours of its own{' '}
        <Icon pack="fluent-emoji-flat" name="rainbow" size="2em" />; and <MdiHome width={32} height={32} />, which was
        copied in by <code>iconedge-react add mdi/home</code>.
      </p>
    </>
  );
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
