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
import { draw } from './drawing';
import { entryOf } from './store';

/**
 * The packs and names that {@link Icon} takes: any, until a declaration adds to it. `iconedge-react types mdi` writes one.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- made to be added to
export interface IconNames {}

/** Which icon: any pack and name, or of the packs in {@link IconNames} alone once there are some. */
export type IconName = keyof IconNames extends never
  ? { pack: string; name: string }
  : { [P in keyof IconNames]: { pack: P; name: IconNames[P] } }[keyof IconNames];

/** What every {@link Icon} takes beside pack and name; all attributes of an svg are handed on to it. */
export interface IconOptions extends Omit<
  SVGAttributes<SVGSVGElement>,
  'name' | 'color' | 'children' | 'dangerouslySetInnerHTML'
> {
  /** Width and height: pixels, or any CSS length; `1em` unless it is given. */
  size?: number | string | undefined;
  /** What currentColor is in this icon; without it, the text's colour. */
  color?: string | undefined;
  /** What the icon says, to those who can't see it and as a tooltip. Without it (or aria-label) an icon is decoration. */
  title?: string | undefined;
  /** Shown instead when the icon can't be had; without it the box stays empty. */
  fallback?: ReactNode;
}

/** The props of {@link Icon}. */
export type IconProps = IconName & IconOptions;

/** An icon from the CDN, as an inline svg. Its box is there from the first render on, the drawing as soon as it is known. */
export const Icon: ForwardRefExoticComponent<IconProps & RefAttributes<SVGSVGElement>> = /* @__PURE__ */ forwardRef<
  SVGSVGElement,
  IconProps
>(function Icon({ pack, name, size = '1em', title, fallback, ...rest }, ref) {
  const entry = entryOf(`${pack}/${name}`);
  const state = useSyncExternalStore(
    entry.join,
    () => entry.known,
    () => undefined, // what is hydrated is the empty box that the server sent
  );
  const failed = typeof state === 'number';
  const drawing = useMemo(() => (typeof state === 'string' ? draw(state) : undefined), [state]);
  const svg = useMemo((): { current: SVGSVGElement | null } => ({ current: null }), []); // as useRef, which is bytes more
  // eslint-disable-next-line react-hooks/exhaustive-deps -- a fallback takes the svg away, and what stands in a ref is no dependency
  useImperativeHandle(ref, () => svg.current!, [failed]);
  // Puts the shapes into the svg when it is mounted, and takes them out again. React does not know of them: it need not compare
  // them, and their attributes need no names of React's.
  const hold = useMemo(() => {
    const shapes = drawing?.shapes ?? [];
    return (node: SVGSVGElement | null) => {
      shapes.forEach((shape) => shape.remove());
      svg.current = node;
      node?.append(...shapes);
      node?.setCurrentTime(0); // an animation begins when it is seen, not when its box was
    };
  }, [drawing, svg]);

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
