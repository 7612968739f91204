export function design(
  host: 'figma' | 'penpot',
  to: { out: string; version: string; api: string; cdn: string },
): Promise<void>;
