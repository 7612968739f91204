import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['dist'] },
  js.configs.recommended,
  ts.configs.strict,
  hooks.configs.flat['recommended-latest'],
  // Those expressions search for control characters.
  { rules: { '@typescript-eslint/no-non-null-assertion': 'off', 'no-control-regex': 'off' } },
);
