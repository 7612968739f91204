export { Icon } from './icon';
export type { IconName, IconNames, IconOptions, IconProps } from './icon';
export { configureIcons } from './store';
