import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ListedSetting } from '@parley/kernel/settings/settings';
import { allSettings } from '@parley/units/settings';
import { defaultText, typeText } from '../settings/listing.ts';
import { linkLines, wrapped } from './wrapped.ts';

const marked = /(?<=<!-- settings: (?<unit>\w+) -->\n).*?(?=<!-- end of settings -->)/gsu;
const list = /(?<=<!-- pages of units -->\n).*?(?=<!-- end of pages -->)/su;

/**
 * Returns the pages below `root`, with current text between their markers:
 * - a unit's list of settings between `<!-- settings: UNIT -->` and `<!-- end of settings -->`;
 * - links to the lists of all units between `<!-- pages of units -->` and `<!-- end of pages -->`.
 *
 * @throws Error if a unit has no list, or a list names no unit.
 */
export function settingsLists(root: string, settings = allSettings()) {
  const missing = new Set(Object.keys(settings));
  const found: [unit: string, path: string][] = [];
  const pages = globSync(['{README,SETTINGS}.md', 'scripts/README.md', '{gateway,services/*}/{README,SETTINGS}.md'], {
    cwd: root,
  }).map((path) => {
    const present = readFileSync(join(root, path), 'utf8');
    const text = present.replaceAll(marked, (_, unit: string) => {
      const listed = settings[unit];
      if (!listed)
        throw new Error(
          `${path} has a list of the settings of ${unit}, which is no unit: deploy/units/src/units.ts lists those`,
        );
      missing.delete(unit);
      if (path.includes('/')) found.push([unit, path]);
      return `\n${listOf(listed)}\n`;
    });
    return { path, text };
  });
  if (missing.size > 0)
    throw new Error(
      `No README.md or SETTINGS.md has the lines <!-- settings: NAME --> and <!-- end of settings --> of ${[...missing].join(', ')}`,
    );
  const links = found.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([unit, path]) => `[${unit}](${path})`);
  return pages.map(({ path, text }) => ({ path, text: text.replace(list, `\n${linkLines(links)}\n\n`) }));
}

function listOf(settings: ListedSetting[]): string {
  const items = settings.map((each) => {
    const standard = defaultText(each, (value) => (value === '' ? 'none' : `\`${value}\``));
    const about = standard.startsWith('required') ? standard : `default: ${standard}`;
    return wrapped(escaped(`- \`${each.name}\`: ${typeText(each)}, ${about}. ${each.meaning}`), '  ');
  });
  return `${items.join('\n')}\n`;
}

/** Escapes `<` outside code spans, because Markdown would read it as HTML. */
function escaped(text: string): string {
  return text.replaceAll(/`[^`]*`|</gu, (found) => (found === '<' ? '\\<' : found));
}
