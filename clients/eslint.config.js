import js from '@eslint/js';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['react', 'plugins/dist', '**/build', 'raycast/raycast-env.d.ts'] },
  js.configs.recommended,
  ts.configs.strict,
  { files: ['**/*.mjs'], languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } } },
  // Those expressions search for control characters.
  { rules: { '@typescript-eslint/no-non-null-assertion': 'off', 'no-control-regex': 'off' } },
);
