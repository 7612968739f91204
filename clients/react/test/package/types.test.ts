import { dirname, join, sep } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { pack, project, root, run, type Packed } from './project';

const uses = `
import { useRef } from 'react';
import { configureIcons, Icon, type IconProps } from '@iconedge/react';

configureIcons({ base: 'https://icons.example.org' });
const props: IconProps = { pack: 'mdi', name: 'home' };
export function Good() {
  const ref = useRef<SVGSVGElement>(null);
  return (
    <>
      <Icon {...props} ref={ref} />
      <Icon pack="mdi" name="home" size={24} color="tomato" title="Home" fallback={<b>?</b>} />
      <Icon pack="mdi" name="home" size="2rem" className="c" style={{ opacity: 0.5 }} data-x="y" aria-label="z" strokeWidth={2}
        onClick={(event) => event.currentTarget.getBBox()} ref={(svg) => { svg?.getBBox(); }} />
    </>
  );
}
export const bad = [
  // @ts-expect-error no name
  <Icon pack="mdi" />,
  // @ts-expect-error no pack
  <Icon name="home" />,
  // @ts-expect-error a number as name
  <Icon pack="mdi" name={1} />,
  // @ts-expect-error a number as color
  <Icon pack="mdi" name="home" color={1} />,
  // @ts-expect-error an object as size
  <Icon pack="mdi" name="home" size={{}} />,
  // @ts-expect-error an unknown attribute
  <Icon pack="mdi" name="home" colour="red" />,
  // @ts-expect-error children
  <Icon pack="mdi" name="home"><b /></Icon>,
];
// @ts-expect-error no base
configureIcons({});
`;

// With the declaration that \`iconedge-react types bi lucide\` writes.
const named = `
import { Icon, type IconProps } from '@iconedge/react';
const props: IconProps = { pack: 'lucide', name: 'home' };
export const good = [<Icon {...props} />, <Icon pack="bi" name="123" size={1} />];
export const bad = [
  // @ts-expect-error a name of no pack
  <Icon pack="bi" name="124" />,
  // @ts-expect-error a name of another pack
  <Icon pack="bi" name="home" />,
  // @ts-expect-error no pack
  <Icon pack="mdi" name="home" />,
];
`;

const config = (more: object) =>
  JSON.stringify({
    compilerOptions: {
      strict: true,
      skipLibCheck: false,
      skipDefaultLibCheck: true,
      noEmit: true,
      jsx: 'react-jsx',
      target: 'es2022',
      types: [],
      ...more,
    },
    include: ['*.tsx', '*.ts', '*.cts', 'icons'],
  });

// TypeScript's own libraries, which all programs share.
const libraries = dirname(ts.getDefaultLibFilePath({}));
const parsed = new Map<string, ts.SourceFile | undefined>();

/** Returns the errors of a project in its own files and in this package. Checks of React's types would find nothing. */
function errors(folder: string) {
  const config = ts.getParsedCommandLineOfConfigFile(join(folder, 'tsconfig.json'), undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (found) => {
      throw new Error(ts.flattenDiagnosticMessageText(found.messageText, '\n'));
    },
  });
  if (!config) throw new Error(`no configuration in ${folder}`);
  const host = ts.createCompilerHost(config.options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, options, ...more) => {
    if (!name.startsWith(libraries)) return read(name, options, ...more);
    const key = JSON.stringify([name, options]);
    if (!parsed.has(key)) parsed.set(key, read(name, options, ...more));
    return parsed.get(key);
  };
  const program = ts.createProgram(config.fileNames, config.options, host);
  const foreign = `${sep}node_modules${sep}`;
  const own = program.getSourceFiles().filter(({ fileName }) => {
    const path = fileName.split(foreign).at(-1) ?? '';
    return path.startsWith('@iconedge') || (fileName.startsWith(folder) && !fileName.includes(foreign));
  });
  expect(own.map(({ fileName }) => fileName).join()).toMatch(/@iconedge.react.dist.index\.d\.(c|m)?ts/);
  const found = [
    ...config.errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ];
  return ts.formatDiagnostics(found, host);
}

let packed: Packed;
let home: Awaited<ReturnType<typeof project>>;
beforeAll(async () => {
  home = await project();
  packed = await pack(home.folder);
});
afterAll(() => home.remove());

describe.each([
  ['18', 'types-react18'],
  ['19', '@types/react'],
])('with the types of React %s', (_, types) => {
  let app: Awaited<ReturnType<typeof project>>;
  beforeAll(async () => {
    app = await project({ 'package.json': '{"type":"module"}' });
    await app.unpack(packed.tarball);
    await app.copy(types, '@types/react');
    for (const name of ['csstype', '@types/prop-types']) await app.link(name);
  });
  afterAll(() => app.remove());

  test.each([
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }, ''],
    ['node16', { module: 'node16', moduleResolution: 'node16' }, "import react = require('@iconedge/react');\n"],
  ])('the promised calls compile, and others do not (%s)', async (_, resolution, required) => {
    await app.write('tsconfig.json', config({ ...resolution, exactOptionalPropertyTypes: true }));
    await app.write('uses.tsx', uses);
    await app.write('required.cts', required && `${required}export const Icon = react.Icon;\n`);
    expect(errors(app.folder)).toBe('');
  });

  test('with names of packs declared, and with copied components', async () => {
    const cli = (...args: string[]) =>
      run('node', [join(root, 'dist/cli.js'), ...args, '--api', inject('edge')], { cwd: app.folder });
    await cli('types', 'bi', 'lucide', '--file', 'names.d.ts');
    await cli(
      'add',
      'mdi/home',
      'bi/123',
      'paint/gradient',
      'paint/styled',
      'paint/moving',
      '--index',
      '--out',
      'icons',
    );
    await app.write('tsconfig.json', config({ module: 'esnext', moduleResolution: 'bundler', noUnusedLocals: true }));
    await app.write('uses.tsx', named);
    await app.write('required.cts', '');
    expect(errors(app.folder)).toBe('');
  });
});
