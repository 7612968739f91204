import {
  createElement,
  forwardRef,
  useImperativeHandle,
  useMemo,
  useSyncExternalStore,
  type ForwardRefExoticComponent,
  type ReactNode,
  type RefAttributes,
  type SVGAttributes,
} from 'react';
import { draw, type Instance } from './draw';
import { entryOf } from './store';

/**
 * The packs and names that {@link Icon} accepts: any, unless a declaration adds some. `iconedge-react types mdi` writes one.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- made to be added to
export interface IconNames {}

/** An icon: any pack and name or, if {@link IconNames} has packs, one of those. */
export type IconName = keyof IconNames extends never
  ? { pack: string; name: string }
  : { [P in keyof IconNames]: { pack: P; name: IconNames[P] } }[keyof IconNames];

/** The props of every {@link Icon} besides pack and name. All attributes of svg are passed on to it. */
export interface IconOptions extends Omit<
  SVGAttributes<SVGSVGElement>,
  'name' | 'color' | 'children' | 'dangerouslySetInnerHTML'
> {
  /** Width and height: pixels, or any CSS length. The default is `1em`. */
  size?: number | string | undefined;
  /** The colour of an icon of one colour. The default is its own or, if it has none, the colour of the text. */
  color?: string | undefined;
  /** The width of the strokes, from 0.25 to 4, of an icon whose strokes have one: in pixels of the icon 24 pixels high. */
  strokeWidth?: number | string | undefined;
  /** The meaning of the icon, for screen readers and as a tooltip. Without it (or aria-label) an icon is decorative. */
  title?: string | undefined;
  /** Shown instead if the icon cannot be loaded. Without it the box stays empty. */
  fallback?: ReactNode;
}

/** The props of {@link Icon}. */
export type IconProps = IconName & IconOptions;

/** The ref of the svg. It has the svg, which saves a ref of its own. */
interface Holder {
  (node: SVGSVGElement | null): void;
  svg?: SVGSVGElement | null;
}

/** An icon from the CDN, as an inline svg. The box exists from the first render on; the SVG follows when it is loaded. */
export const Icon: ForwardRefExoticComponent<IconProps & RefAttributes<SVGSVGElement>> = /* @__PURE__ */ forwardRef<
  SVGSVGElement,
  IconProps
>(function Icon({ pack, name, size = '1em', title, strokeWidth, fallback, ...rest }, ref) {
  const entry = entryOf(`${pack}/${name}.svg${strokeWidth ? '?stroke=' + strokeWidth : ''}`);
  const state = useSyncExternalStore(
    entry.join,
    () => entry.known,
    () => undefined, // the server sends an empty box, and hydration starts from it
  );
  const failed = (state as number) >= 0; // neither undefined nor the text of an SVG is
  const drawing = useMemo(
    () => (failed ? undefined : state && draw(state as string)) as Instance | undefined,
    [failed, state],
  );
  // Adds the shapes to the svg when it is mounted, and removes them again. React does not manage them, so it does not
  // compare them, and their attributes need no React names.
  const hold = useMemo(() => {
    const shapes = drawing?.shapes ?? [];
    const holder: Holder = (node) => {
      shapes.forEach((shape) => shape.remove());
      holder.svg = node;
      node?.append(...shapes);
      // An animation begins when the shapes appear, not when the box did. jsdom has none.
      node?.setCurrentTime?.(0);
    };
    return holder;
  }, [drawing]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the svg stays until the fallback replaces it
  useImperativeHandle(ref, () => hold.svg!, [failed]);

  if (failed && fallback !== undefined) return fallback;
  const named = title || rest['aria-label'] || rest['aria-labelledby'];
  return createElement(
    'svg',
    {
      width: size,
      height: size,
      ...(named ? { role: 'img' } : { 'aria-hidden': true }),
      ...drawing?.root,
      ...rest,
      ref: hold,
    },
    title && createElement('title', null, title),
  );
});
