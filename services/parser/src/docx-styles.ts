import { isOn, type Part, valueOf } from './docx-xml.ts';
import { readXml } from './office-xml.ts';

/** The properties of a style for paragraphs or runs, including those of its base styles. */
export interface DocxStyle {
  /** 1 to 9. */
  headingLevel?: number | undefined;
  numId?: string | undefined;
  listLevel?: number | undefined;
  /** The ids of this style and its base styles, up to the style with the numbering. A level of a list may refer to any of these. */
  numberedAs: string[];
  isHidden: boolean;
}

export type DocxStyles = ReturnType<typeof docxStyles>;

interface OwnStyle {
  name: string;
  basedOn?: string;
  outlineLevel?: number;
  numId?: string;
  listLevel?: number;
  isHidden?: boolean;
}

const longestChain = 20;

export async function readStyles(part: Part | undefined): Promise<DocxStyles> {
  const own = new Map<string, OwnStyle>();
  let style: OwnStyle | undefined;
  let isOfTable = false;
  const path: string[] = [];
  if (part) {
    await readXml(part, {
      open(name, attributes) {
        path.push(name);
        const parent = path.at(-2);
        if (name === 'style') {
          style = { name: '' };
          own.set(valueOf(attributes, 'styleId') ?? '', style);
          const isDefault = valueOf(attributes, 'type') === 'paragraph' && isOn(valueOf(attributes, 'default') ?? '0');
          // The style of paragraphs that name no style.
          if (isDefault) own.set('', style);
        }
        if (!style) return;
        if (name === 'tblStylePr') isOfTable = true;
        if (isOfTable) return;
        const value = valueOf(attributes);
        if (name === 'name' && parent === 'style') style.name = value ?? '';
        else if (name === 'basedOn' && value !== undefined) style.basedOn = value;
        else if (name === 'outlineLvl') style.outlineLevel = Number(value);
        else if (name === 'numId' && value !== undefined) style.numId = value;
        else if (name === 'ilvl') style.listLevel = Number(value);
        else if (name === 'vanish' && parent === 'rPr' && path.at(-3) === 'style') style.isHidden = isOn(value);
      },
      close(name) {
        path.pop();
        if (name === 'style') style = undefined;
        if (name === 'tblStylePr') isOfTable = false;
      },
    });
  }
  return docxStyles(own);
}

function docxStyles(own: Map<string, OwnStyle>) {
  const resolved = new Map<string, DocxStyle>();

  function resolve(id: string): DocxStyle {
    const style: DocxStyle = { numberedAs: [], isHidden: false };
    let heading: number | undefined;
    let isHidden: boolean | undefined;
    let next: string | undefined = id;
    for (let depth = 0; next !== undefined && depth < longestChain; depth += 1) {
      const found = own.get(next);
      const level = found?.outlineLevel;
      heading ??=
        headingOf(found?.name ?? next) ?? (level === undefined || Number.isNaN(level) ? undefined : level + 1);
      if (style.numId === undefined) style.numberedAs.push(next);
      style.numId ??= found?.numId;
      style.listLevel ??= found?.listLevel;
      isHidden ??= found?.isHidden;
      next = found?.basedOn;
    }
    if (heading !== undefined && heading >= 1 && heading <= 9) style.headingLevel = heading;
    return { ...style, isHidden: isHidden ?? false };
  }

  return {
    get(id: string): DocxStyle {
      const known = resolved.get(id) ?? resolve(id);
      resolved.set(id, known);
      return known;
    },
  };
}

function headingOf(name: string): number | undefined {
  if (name === 'Title') return 1;
  const level = /^heading ?([1-9])$/iu.exec(name)?.[1];
  return level === undefined ? undefined : Number(level);
}
