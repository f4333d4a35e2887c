import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const templateFile = fileURLToPath(new URL('./study-kit.typ', import.meta.url));

/** The path of each font's file in its package, regular and bold, in the order of the template's list. */
const fonts = [
  '@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf',
  '@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf',
  '@expo-google-fonts/amiri/400Regular/Amiri_400Regular.ttf',
  '@expo-google-fonts/amiri/700Bold/Amiri_700Bold.ttf',
  '@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf',
  '@expo-google-fonts/noto-sans-sc/700Bold/NotoSansSC_700Bold.ttf',
  '@expo-google-fonts/noto-emoji/400Regular/NotoEmoji_400Regular.ttf',
  '@expo-google-fonts/noto-emoji/700Bold/NotoEmoji_700Bold.ttf',
];

export const compilerPackage = '@myriaddreamin/typst-ts-node-compiler';
const fontPackages = [...new Set(fonts.map((path) => path.split('/').slice(0, 2).join('/')))];

export function fontFiles(): string[] {
  return fonts.map((path) => fileURLToPath(import.meta.resolve(path)));
}

/**
 * Returns a hash of everything that determines a file besides its content: layout, template, and the versions of the compiler and the
 * fonts.
 */
export function makingHash(): string {
  const hash = createHash('sha256').update(readFileSync(templateFile));
  for (const name of ['study-kit.ts', 'printable-text.ts']) hash.update(readFileSync(new URL(name, import.meta.url)));
  for (const name of [compilerPackage, ...fontPackages]) {
    const { version } = JSON.parse(readFileSync(fileURLToPath(import.meta.resolve(`${name}/package.json`)), 'utf8'));
    hash.update(`\n${name}@${version}`);
  }
  return hash.digest('hex');
}
