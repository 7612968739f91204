// The form react for hosts that offer it. It is apart from the core, because its tables take 5 kB.
import { componentName, module } from '../react/src/cli/jsx/module';
import { render } from '../react/src/cli/jsx/render';
import { words, type Icon, type Options } from './output';

/** Writes an icon as a React component in TypeScript, below its credit; throws if the SVG can't be one. */
export function component(i: Icon, o: Options): string {
  const source = module(componentName(i.pack, i.name), render(i.svg), 'tsx');
  const sized = o.size ? source.replace('width="1em" height="1em"', `width="${i.width}" height="${i.height}"`) : source;
  return `// ${words(i)}\n${sized}`;
}
