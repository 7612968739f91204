import { Buffer } from 'node:buffer';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Action,
  ActionPanel,
  Alert,
  Clipboard,
  Color,
  confirmAlert,
  environment,
  Icon,
  List,
  showHUD,
  showToast,
  Toast,
} from '@raycast/api';
import { useEffect, useRef, useState } from 'react';
import { dataURI, forms, insert, Search, type Client, type Form, type Hit, type Icon as Drawn } from '../../core';
import { picture } from '../../core/picture';
import { component } from '../../core/react';
import { open } from './service';

let agreed = false; // in this session, to an icon that may not be used commercially

/** Copies or pastes an icon. A failure is one sentence in a toast. */
async function use(client: Client, h: Hit, how: 'copy' | 'paste', form?: Form): Promise<void> {
  const { settings } = client.host;
  try {
    const icon = await client.icon(h.pack, h.name);
    const { license, attribution, commercialUse } = icon.credit;
    if (!agreed && !(h.commercialUse && commercialUse)) {
      const message = `${h.pack}/${h.name} is licensed ${license}: non-commercial use only. Use it?`;
      const primaryAction = { title: 'Use It', style: Alert.ActionStyle.Default };
      agreed = await confirmAlert({ title: 'Non-Commercial', message, primaryAction });
      if (!agreed) return;
    }
    const chosen = form ?? settings.insertAs;
    const content =
      chosen === 'png'
        ? { file: await store(client, icon, h.cdn) }
        : { text: insert(chosen, '', icon, { ...settings, cdn: h.cdn, component }) };
    await (how === 'copy' ? Clipboard.copy(content) : Clipboard.paste(content));
    await showHUD(`${how === 'copy' ? 'Copied' : 'Pasted'} ${h.pack}/${h.name}, ${license}: ${attribution}`);
  } catch (error) {
    await showToast({ style: Toast.Style.Failure, title: (error as Error).message });
  }
}

/** Stores an icon as PNG, because Raycast copies pictures as files, and returns the path. */
async function store(client: Client, i: Drawn, cdn: string): Promise<string> {
  const path = join(environment.supportPath, `${i.pack}-${i.name}.png`);
  await mkdir(environment.supportPath, { recursive: true });
  await writeFile(path, Buffer.from(await (await picture(client, i, cdn)).arrayBuffer()));
  return path;
}

function Row({ client, hit: h }: { client: Client; hit: Hit }) {
  const [picture, setPicture] = useState<string>();
  useEffect(() => {
    client.preview(h).then(
      (svg) => setPicture(dataURI(svg)),
      () => undefined, // a row without a picture is still of use
    );
  }, [client, h]);
  const warning = { tag: { value: 'non-commercial', color: Color.Orange } };
  return (
    <List.Item
      title={`${h.pack}/${h.name}`}
      icon={
        picture ? { source: picture, ...(h.monochrome && !h.color && { tintColor: Color.PrimaryText }) } : Icon.Image
      }
      accessories={[...(h.commercialUse ? [] : [warning]), { text: h.license }]}
      actions={
        <ActionPanel>
          <Action title="Copy Icon" icon={Icon.Clipboard} onAction={() => use(client, h, 'copy')} />
          <Action title="Paste Icon" icon={Icon.TextCursor} onAction={() => use(client, h, 'paste')} />
          <ActionPanel.Submenu title="Copy as…" icon={Icon.Code} shortcut={{ modifiers: ['shift'], key: 'return' }}>
            {forms.map((form) => (
              <Action key={form} title={form} onAction={() => use(client, h, 'copy', form)} />
            ))}
          </ActionPanel.Submenu>
          <Action.OpenInBrowser title="Open SVG" url={`${h.cdn}/${h.pack}/${h.name}.svg`} />
        </ActionPanel>
      }
    />
  );
}

/** The command: a list of icons that is searched as the user types. */
export default function Command() {
  const [client, setClient] = useState<Client>();
  const [{ hits, says }, show] = useState<{ hits: Hit[]; says: string }>({ hits: [], says: '' });
  const search = useRef<Search | null>(null);
  useEffect(() => {
    void open().then(({ client, complaints }) => {
      search.current = new Search(
        () => client,
        (found) => {
          show((before) => ({ hits: found.hits ?? before.hits, says: found.says }));
          if (!found.hits) void showToast({ style: Toast.Style.Failure, title: found.says });
        },
      );
      setClient(client);
      show({ hits: [], says: complaints.join(' ') });
    });
    return () => search.current?.stop();
  }, []);
  return (
    <List
      searchBarPlaceholder="Search icons"
      isLoading={!client}
      onSearchTextChange={(text) => search.current?.type(text)}
    >
      {client && hits.length > 0 ? (
        <List.Section title={says}>
          {hits.map((h) => (
            <Row key={`${h.pack}/${h.name}`} client={client} hit={h} />
          ))}
        </List.Section>
      ) : (
        <List.EmptyView title={says || 'Search icons'} />
      )}
    </List>
  );
}
