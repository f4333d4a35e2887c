import test from 'ava';
import type { DocxOptions } from './make-documents.ts';
import { headingOf, listItem, makeDocx, paragraph, tableOf } from './make-documents.ts';
import { read, reasonFor, textOf } from './read.ts';

const run = (text: string, properties = '') =>
  `<w:r>${properties && `<w:rPr>${properties}</w:rPr>`}<w:t xml:space="preserve">${text}</w:t></w:r>`;
const p = (...content: string[]) => `<w:p>${content.join('')}</w:p>`;
const docx = (body: string, options?: DocxOptions) => textOf('docx', makeDocx(body, options));

const shape = (content: string) =>
  `<w:drawing><wp:anchor><wp:docPr id="1" name="Box"/><a:graphic><a:graphicData><wps:wsp><wps:txbx><w:txbxContent>${content}</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing>`;
const vml = (content: string) =>
  `<w:pict><v:shape><v:textbox><w:txbxContent>${content}</w:txbxContent></v:textbox></v:shape></w:pict>`;
const choice = (chosen: string, fallback: string) =>
  `<mc:AlternateContent><mc:Choice Requires="wps">${chosen}</mc:Choice><mc:Fallback>${fallback}</mc:Fallback></mc:AlternateContent>`;

test('the text of a text box is read once, whatever its drawing format', async (t) => {
  const box = p(run('16 bar at most'));
  const expected = 'First.\n\n16 bar at most\n\nLast.\n\n';
  const forms = {
    'DrawingML alone': shape(box),
    'DrawingML with VML for older programs': choice(shape(box), vml(box)),
    'DrawingML with a picture for older programs': choice(shape(box), '<w:pict/>'),
    'VML alone': vml(box),
    'VML where the choice is a picture': choice('<w:drawing/>', vml(box)),
  };
  for (const [form, drawn] of Object.entries(forms))
    t.is(await docx(paragraph('First.') + p(`<w:r>${drawn}</w:r>`) + paragraph('Last.')), expected, form);
});

test('the text of WordArt, which is an attribute, is read', async (t) => {
  const art = '<w:pict><v:shape><v:textpath string="Summer &amp; sale"/></v:shape></w:pict>';
  t.is(await docx(p(run('Our'), `<w:r>${art}</w:r>`, run('begins.'))), 'Our Summer & sale begins.\n\n');
  const box = p(run('Summer &amp; sale'));
  t.is(await docx(p(`<w:r>${choice(shape(box), art)}</w:r>`)), 'Summer & sale\n\n');
});

test('text boxes follow the paragraph of their anchor, with their lists and tables', async (t) => {
  const grouped = `<wpg:wgp>${shape(paragraph('left'))}${shape(paragraph('right'))}</wpg:wgp>`;
  const inner = shape(p(run('outer'), `<w:r>${shape(paragraph('inner'))}</w:r>`));
  const content = listItem('one', { list: 2 }) + tableOf([['a', 'b']]);
  t.is(
    await docx(
      p(run('An'), `<w:r>${grouped}</w:r>`, run('chor')) + p(`<w:r>${inner}</w:r>`) + p(`<w:r>${shape(content)}</w:r>`),
    ),
    'Anchor\n\nleft\n\nright\n\nouter\n\ninner\n\n1. one\n\n| a | b |\n| --- | --- |\n\n',
  );
  t.is(
    await docx(tableOf([['x', p(run('cell'), `<w:r>${shape(paragraph('boxed'))}</w:r>`)]])),
    '| x | cell boxed |\n| --- | --- |\n\n',
  );
});

test('fields are read as their results, without their codes and the text inside the codes', async (t) => {
  const field = (code: string, result: string) =>
    `<w:r><w:fldChar w:fldCharType="begin"/></w:r>${code}<w:r><w:fldChar w:fldCharType="separate"/></w:r>${result}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
  const code = (text: string) => `<w:r><w:instrText>${text}</w:instrText></w:r>`;
  const nested = field(code('IF ') + field(code('MERGEFIELD sex'), run('f')) + code(' = "f" "Ms" "Mr"'), run('Ms'));
  t.is(await docx(p(run('Dear '), nested, run(' Lovelace'))), 'Dear Ms Lovelace\n\n');
  t.is(
    await docx(p(run('See clause '), '<w:fldSimple w:instr=" REF c7 ">', run('7'), '</w:fldSimple>', run('.'))),
    'See clause 7.\n\n',
  );
  const form = (data: string) =>
    `<w:r><w:fldChar w:fldCharType="begin"><w:ffData>${data}</w:ffData></w:fldChar></w:r>${code('FORM')}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
  const box = '<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>';
  const list = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="monthly"/><w:listEntry w:val="yearly"/></w:ddList>';
  t.is(await docx(p(form(box), run('paid '), form(list))), '[x] paid yearly\n\n');
});

test('a field without an end hides no text', async (t) => {
  const part = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
  const deleted = (content: string) => `<w:del w:id="1">${content}</w:del>`;
  const begun = part('begin') + '<w:r><w:instrText> REF x </w:instrText></w:r>';
  const rest = paragraph('The rent is 900 euros.');
  const expected = 'Intro\n\nThe rent is 900 euros.\n\n';
  t.is(await docx(p(run('Intro'), begun) + rest), expected);
  t.is(await docx(p(run('Intro'), begun, deleted(part('end'))) + rest), expected);
  t.is(
    await docx(p(run('Intro'), begun, deleted(part('separate') + part('end')), run(' two')) + rest),
    'Intro two\n\nThe rent is 900 euros.\n\n',
  );
  t.is(await docx(p(deleted(begun + part('separate') + run('old') + part('end')), run('Intro')) + rest), expected);
  t.is(await docx(p(begun, run('Intro')) + rest), expected);
  t.is(await docx(p(begun, part('begin'), run('Intro')) + p(part('end'), part('end')) + rest), expected);
  t.is(
    await docx(p(begun, `<w:r>${vml(p(run('boxed'), begun))}</w:r>`, part('end')) + rest),
    'boxed\n\nThe rent is 900 euros.\n\n',
  );
  t.is(
    await docx(`<w:tbl><w:tr><w:tc>${p(begun)}</w:tc><w:tc>${p(run('cell'))}</w:tc></w:tr></w:tbl>`),
    '|  | cell |\n| --- | --- |\n\n',
  );
});

test('runs within other elements are read: directions, tags, insertions, links and base text of ruby', async (t) => {
  const wrapped = (element: string, text: string) => `<w:${element}>${run(text)}</w:${element}>`;
  const elements = ['bdo', 'dir', 'smartTag', 'customXml', 'ins', 'moveTo', 'hyperlink', 'sdt'];
  t.is(await docx(p(...elements.map((name) => wrapped(name, `${name} `)))), `${elements.join(' ')}\n\n`);
  const ruby = (base: string, reading: string) =>
    `<w:r><w:ruby><w:rt>${run(reading)}</w:rt><w:rubyBase>${run(base)}</w:rubyBase></w:ruby></w:r>`;
  t.is(await docx(p(ruby('東', 'とう'), ruby('京', 'きょう'), run('の規則'))), '東京の規則\n\n');
});

test('deleted, moved and hidden text is not read', async (t) => {
  const hidden = '<w:style w:type="character" w:styleId="Hidden"><w:rPr><w:vanish/></w:rPr></w:style>';
  const body = [
    p(
      run('kept '),
      `<w:del w:id="1">${run('deleted')}</w:del>`,
      `<w:moveFrom w:id="2">${run('moved')}</w:moveFrom>`,
      run('too'),
    ),
    p(
      run('a'),
      run('hidden', '<w:vanish/>'),
      run('by style', '<w:rStyle w:val="Hidden"/>'),
      run('b', '<w:vanish w:val="0"/>'),
    ),
    `<w:tbl><w:tr><w:trPr><w:del w:id="3"/></w:trPr><w:tc>${p(`<w:del w:id="4">${run('row')}</w:del>`)}</w:tc></w:tr><w:tr><w:tc>${paragraph('cell')}</w:tc></w:tr></w:tbl>`,
    `<w:p><w:pPr><w:rPr><w:del w:id="5"/></w:rPr></w:pPr>${run('joined ')}</w:p>${p(run('line'))}`,
    paragraph('plain', '<w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>'),
  ];
  t.is(
    await docx(body.join(''), { styles: hidden }),
    'kept too\n\nab\n\n| cell |\n| --- |\n\njoined line\n\nplain\n\n',
  );
});

test('soft hyphens are omitted, and non-breaking hyphens are read as hyphens', async (t) => {
  t.is(await docx(paragraph('co\u00adoper\u00adation')), 'cooperation\n\n');
  t.is(await docx(p('<w:r><w:t>co</w:t><w:softHyphen/><w:t>operation</w:t></w:r>')), 'cooperation\n\n');
  t.is(await docx(p('<w:r><w:t>E</w:t><w:noBreakHyphen/><w:t>1042</w:t></w:r>')), 'E-1042\n\n');
});

test('signs of symbol fonts are read as characters, or counted as lost', async (t) => {
  t.is(await docx(p(run('10 '), '<w:r><w:sym w:font="Symbol" w:char="F06D"/></w:r>', run('m'))), '10 μm\n\n');
  const { text, losses } = await read('docx', makeDocx(p(run('x'), '<w:r><w:sym w:font="Own" w:char="F0E1"/></w:r>')));
  t.is(text, 'x\n\n[1 sign of fonts of symbols could not be read]\n\n');
  t.is(losses?.[0]?.kind, 'unknownSigns');
});

const mr = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
const m = (name: string, ...content: string[]) => `<m:${name}>${content.join('')}</m:${name}>`;
const arg = (name: string, ...content: string[]) =>
  m(name, ...content.map((each) => (each.startsWith('<') ? each : mr(each))));

test('equations are read as linear text, within a line or on their own line', async (t) => {
  const equations: Record<string, string> = {
    'x=(-b±√(b^2-4ac))/2a':
      mr('x=') +
      m(
        'f',
        arg(
          'num',
          '-b±',
          m(
            'rad',
            '<m:radPr><m:degHide m:val="1"/></m:radPr>',
            m('deg'),
            arg('e', m('sSup', arg('e', 'b'), arg('sup', '2')), '-4ac'),
          ),
        ),
        arg('den', '2a'),
      ),
    '∑_(i=1)^n x_i': m(
      'nary',
      '<m:naryPr><m:chr m:val="∑"/></m:naryPr>',
      arg('sub', 'i=1'),
      arg('sup', 'n'),
      arg('e', m('sSub', arg('e', 'x'), arg('sub', 'i'))),
    ),
    '∛(x+1)': m('rad', arg('deg', '3'), arg('e', 'x+1')),
    'sin(α)': m('func', arg('fName', 'sin'), arg('e', m('d', arg('e', 'α')))),
    '[a|b)': m('d', '<m:dPr><m:begChr m:val="["/><m:endChr m:val=")"/></m:dPr>', arg('e', 'a'), arg('e', 'b')),
    'lim_(n→∞) 1/n': m(
      'func',
      arg('fName', m('limLow', arg('e', 'lim'), arg('lim', 'n→∞'))),
      arg('e', m('f', arg('num', '1'), arg('den', 'n'))),
    ),
    '[1, 0; 0, 1]': m('m', m('mr', arg('e', '1'), arg('e', '0')), m('mr', arg('e', '0'), arg('e', '1'))),
    'x_1^2': m('sSubSup', arg('e', 'x'), arg('sub', '1'), arg('sup', '2')),
  };
  for (const [linear, omml] of Object.entries(equations)) {
    t.is(
      await docx(p(run('It is '), `<m:oMath>${omml}</m:oMath>`, run(' here.'))),
      `It is ${linear.replace('2a', '(2a)')} here.\n\n`,
    );
    t.is(await docx(p(`<m:oMathPara><m:oMath>${omml}</m:oMath></m:oMathPara>`)), `${linear.replace('2a', '(2a)')}\n\n`);
  }
  const two = p(
    run('Both:'),
    `<m:oMathPara><m:oMath>${mr('a=1')}</m:oMath><m:oMath>${mr('b=2')}</m:oMath></m:oMathPara>`,
  );
  t.is(await docx(two), 'Both:\na=1\nb=2\n\n');
});

const lvl = (at: number, format: string, text: string, more = '') =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${more}<w:lvlText w:val="${text}"/></w:lvl>`;
const list = (id: number, ...levels: string[]) =>
  `<w:abstractNum w:abstractNumId="${id}">${levels.join('')}</w:abstractNum>`;
const num = (id: number, of: number, more = '') =>
  `<w:num w:numId="${id}"><w:abstractNumId w:val="${of}"/>${more}</w:num>`;

test('clauses have the numbers that Word shows, and numbering continues after other paragraphs', async (t) => {
  const numbering =
    list(
      1,
      lvl(0, 'decimal', '%1.'),
      lvl(1, 'decimal', '%1.%2'),
      lvl(2, 'lowerLetter', '(%3)'),
      lvl(3, 'lowerRoman', '(%4)'),
    ) +
    num(1, 1) +
    num(3, 1, '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>');
  const item = (text: string, level: number, of = 1) => listItem(text, { level, list: of });
  const body = [
    headingOf(2, 'Duties').replace(
      '<w:pStyle w:val="Heading2"/>',
      '<w:pStyle w:val="Heading2"/><w:numPr><w:numId w:val="1"/></w:numPr>',
    ),
    item('The roof.', 1),
    paragraph('Not in storms.'),
    item('Two duties:', 1),
    item('rent', 2),
    item('garden', 2),
    item('hedge', 3),
    item('lawn', 3),
    item('More.', 1),
    item('key', 2),
    item('Ends', 0),
    item('On notice.', 1),
    item('Restarts', 0, 3),
    item('Follows', 0),
    item('Under it.', 1),
  ];
  t.is(
    await docx(body.join(''), { numbering }),
    '## 1. Duties\n\n1.1 The roof.\n\nNot in storms.\n\n1.2 Two duties:\n\n(a) rent\n\n(b) garden\n\n(i) hedge\n\n(ii) lawn\n\n1.3 More.\n\n(a) key\n\n2. Ends\n\n2.1 On notice.\n\n7. Restarts\n8. Follows\n\n8.1 Under it.\n\n',
  );
});

test('numbers of styles, legal numbers, numbers that never restart and numbers of a linked list are as Word shows them', async (t) => {
  const styles = [
    '<w:style w:type="paragraph" w:styleId="Article"><w:name w:val="Article"/><w:pPr><w:numPr><w:numId w:val="5"/></w:numPr><w:outlineLvl w:val="0"/></w:pPr></w:style>',
    '<w:style w:type="paragraph" w:styleId="Section"><w:name w:val="Section"/><w:basedOn w:val="Article"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>',
    '<w:style w:type="numbering" w:styleId="Legal"><w:name w:val="Legal"/><w:pPr><w:numPr><w:numId w:val="5"/></w:numPr></w:pPr></w:style>',
  ].join('');
  const numbering =
    list(
      5,
      '<w:styleLink w:val="Legal"/>',
      lvl(0, 'upperRoman', 'Article %1:', '<w:pStyle w:val="Article"/>'),
      lvl(1, 'decimalZero', '%1-%2', '<w:isLgl/><w:pStyle w:val="Section"/>'),
      lvl(2, 'decimal', 'Note %3', '<w:lvlRestart w:val="0"/>'),
    ) +
    list(6, '<w:numStyleLink w:val="Legal"/>') +
    num(5, 5) +
    num(6, 6);
  const styled = (text: string, style: string) => paragraph(text, `<w:pStyle w:val="${style}"/>`);
  const body = [
    styled('Scope', 'Article'),
    styled('All goods.', 'Section'),
    listItem('first', { level: 2, list: 6 }),
    styled('Price', 'Article'),
    styled('In euro.', 'Section'),
    listItem('second', { level: 2, list: 6 }),
    paragraph('Unnumbered.', '<w:pStyle w:val="Section"/><w:numPr><w:numId w:val="0"/></w:numPr>'),
  ];
  t.is(
    await docx(body.join(''), { numbering, styles }),
    '# Article I: Scope\n\n1-1 All goods.\n\nNote 1 first\n\n# Article II: Price\n\n2-1 In euro.\n\nNote 2 second\n\nUnnumbered.\n\n',
  );
});

test('list numbers have the format of their level', async (t) => {
  const formats: Record<string, [text: string, start: number, shown: string][]> = {
    chineseCountingThousand: [
      ['第%1条', 1, '第一条'],
      ['第%1条', 12, '第十二条'],
      ['第%1条', 105, '第一百零五条'],
    ],
    japaneseCounting: [['第%1条', 111, '第百十一条']],
    ideographTraditional: [['%1、', 3, '丙、']],
    ideographDigital: [['%1', 20, '二〇']],
    chineseLegalSimplified: [['%1', 12, '壹拾贰']],
    koreanDigital: [['제%1조', 3, '제삼조']],
    ganada: [['%1)', 2, '나)']],
    aiueoFullWidth: [['%1', 2, 'イ']],
    hebrew1: [['%1.', 15, 'טו.']],
    arabicAlpha: [['%1', 3, 'ت']],
    russianLower: [['%1)', 3, 'в)']],
    upperRoman: [
      ['%1', 1_994, 'MCMXCIV'],
      ['%1', 5_000, '5000'],
    ],
    lowerLetter: [['(%1)', 28, '(bb)']],
    decimalZero: [['%1:', 7, '07:']],
    decimalFullWidth: [['%1', 12, '１２']],
    decimalEnclosedCircle: [['%1', 3, '③']],
    ordinal: [
      ['%1', 22, '22nd'],
      ['%1', 13, '13th'],
    ],
    ordinalText: [
      ['%1', 21, 'Twenty-first'],
      ['%1', 40, 'Fortieth'],
    ],
    cardinalText: [['Clause %1', 8, 'Clause Eight']],
    none: [['Remark', 1, 'Remark']],
    unheardOf: [['%1:', 4, '4:']],
  };
  for (const [format, cases] of Object.entries(formats)) {
    for (const [text, start, shown] of cases) {
      const numbering =
        list(1, lvl(0, format, text).replace('w:start w:val="1"', `w:start w:val="${start}"`)) + num(1, 1);
      t.is(await docx(listItem('x'), { numbering }), `${shown} x\n\n`, format);
    }
  }
  const custom =
    '<mc:AlternateContent><mc:Choice><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent>';
  const level = lvl(0, 'decimal', 'R%1', '<w:suff w:val="nothing"/>').replace('<w:numFmt w:val="decimal"/>', custom);
  t.is(await docx(listItem('x'), { numbering: list(1, level) + num(1, 1) }), 'R001x\n\n');
});

test('a completely hidden paragraph has no number, and an empty paragraph counts', async (t) => {
  const numbered = (content: string) =>
    `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr></w:pPr>${content}</w:p>`;
  const body = [
    run('one'),
    `<w:del w:id="1">${run('gone')}</w:del>`,
    run('hidden', '<w:vanish/>'),
    run('two'),
    '',
    run('four'),
  ];
  t.is(await docx(body.map(numbered).join('')), '1. one\n2. two\n4. four\n\n');
});

test('headings, cells and notes have their numbers', async (t) => {
  const numbering = list(1, lvl(0, 'upperLetter', '%1)')) + num(1, 1);
  const footnotes = `<w:footnote w:id="2">${listItem('noted')}</w:footnote>`;
  const body = `${tableOf([[listItem('first') + listItem('second'), 'x']])}<w:p><w:r><w:t>Text</w:t><w:footnoteReference w:id="2"/></w:r></w:p>`;
  t.is(
    await docx(body, { numbering, footnotes }),
    '| A) first B) second | x |\n| --- | --- |\n\nText[^1]\n\n[^1]: noted\n\n',
  );
});

test('paragraphs whose style has an outline level or is based on a heading are headings', async (t) => {
  const style = (id: string, rest: string) =>
    `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${id}"/>${rest}</w:style>`;
  const styles =
    style('Chapter', '<w:basedOn w:val="Heading2"/>') +
    style('Part', '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>') +
    style('Round', '<w:basedOn w:val="Round"/>');
  const styled = (name: string) => paragraph(name, `<w:pStyle w:val="${name}"/>`);
  t.is(await docx(['Chapter', 'Part', 'Round'].map(styled).join(''), { styles }), '## Chapter\n\n# Part\n\nRound\n\n');
});

test('texts of diagrams and charts appear where they are drawn', async (t) => {
  const related = [
    {
      type: 'diagramData',
      name: 'diagrams/data1.xml',
      content: `<dgm:dataModel><dgm:ptLst>${['Plan', 'Build'].map((text) => `<dgm:pt><dgm:t><a:p><a:r><a:t>${text}</a:t></a:r></a:p></dgm:t></dgm:pt>`).join('')}</dgm:ptLst></dgm:dataModel>`,
    },
    {
      type: 'chart',
      name: 'charts/chart1.xml',
      content:
        '<c:chartSpace><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:ser><c:tx><c:strRef><c:strCache><c:pt><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt><c:v>Q1</c:v></c:pt><c:pt><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt><c:v>3</c:v></c:pt><c:pt><c:v>4</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:chart></c:chartSpace>',
    },
  ];
  const drawn = (content: string) =>
    p(
      `<w:r><w:drawing><wp:inline><a:graphic><a:graphicData>${content}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>`,
    );
  const body = `${paragraph('Before')}${drawn('<dgm:relIds r:dm="rId10"/>')}${drawn('<c:chart r:id="rId11"/>')}${paragraph('After')}`;
  t.is(await docx(body, { related }), 'Before\n\nPlan\n\nBuild\n\nSales\n\nNorth: Q1 3; Q2 4\n\nAfter\n\n');
  t.is(
    await docx(paragraph('Before'), { related: related.slice(0, 1) }),
    'Before\n\nPlan\n\nBuild\n\n',
    'not drawn anywhere',
  );
});

test('text that the reader misses is counted as lost', async (t) => {
  const shapes = '<c:userShapes><a:p><a:r><a:t>Sales fell after the fire in May</a:t></a:r></a:p></c:userShapes>';
  const related = [{ type: 'chartUserShapes', name: 'drawings/drawing1.xml', content: shapes }];
  const { text, losses } = await read('docx', makeDocx(paragraph('Report'), { related }));
  t.is(text, 'Report\n\n[26 characters of the document could not be read]\n\n');
  t.is(losses?.[0]?.kind, 'characters');
});

test('omitted headers, comments and embedded documents are reported', async (t) => {
  const header = (text: string) => ({
    type: 'header',
    name: 'header1.xml',
    content: `<w:hdr>${paragraph(text)}</w:hdr>`,
  });
  const warnings = async (body: string, options: DocxOptions) =>
    (await read('docx', makeDocx(body, options))).losses?.map(({ what }) => what);
  t.is(
    await warnings(paragraph('Terms of Trade of Example Ltd'), { related: [header('Terms of Trade of Example Ltd')] }),
    undefined,
    'repeated',
  );
  t.is(await warnings(paragraph('x'), { related: [header('Page 1 of 3')] }), undefined, 'a trace');
  t.deepEqual(await warnings(paragraph('x'), { related: [header('Only for customers in Norway')] }), [
    '24 characters of page headers and footers not read',
  ]);
  const comments = {
    type: 'comments',
    name: 'comments.xml',
    content: `<w:comments><w:comment w:id="1">${paragraph('check')}</w:comment><w:comment w:id="2">${paragraph('this')}</w:comment></w:comments>`,
  };
  t.deepEqual(await warnings(`${paragraph('x')}<w:altChunk r:id="rId9"/>`, { related: [comments] }), [
    '1 embedded document not read',
    '2 comments not read',
  ]);
});

test('text outside any paragraph is kept', async (t) => {
  t.is(
    await docx(`${run('loose')}${paragraph('x')}<w:tbl><w:tr>${run('in a row')}</w:tr></w:tbl>`),
    'loose\n\nx\n\n| in a row |\n| --- |\n\n',
  );
});

test('the nesting of boxes, tables and fractions is bounded', async (t) => {
  const deep = 'The content of the file is nested too deeply.';
  const nested = (times: number, open: string, close: string) => `${open.repeat(times)}${close.repeat(times)}`;
  const box = nested(
    100,
    '<w:p><w:r><w:pict><v:textbox><w:txbxContent>',
    '</w:txbxContent></v:textbox></w:pict></w:r></w:p>',
  );
  const table = nested(100, '<w:tbl><w:tr><w:tc>', '</w:tc></w:tr></w:tbl>');
  const fraction = `<w:p><m:oMath>${nested(400, '<m:f><m:num>', '</m:num></m:f>')}</m:oMath></w:p>`;
  const fields = `<w:p>${'<w:r><w:fldChar w:fldCharType="begin"/></w:r>'.repeat(100)}</w:p>`;
  for (const body of [box, table, fraction, fields]) t.is(await reasonFor('docx', makeDocx(body)), deep);
});

test('paragraphs without a style have the numbers of the default style', async (t) => {
  const styles =
    '<w:style w:type="paragraph" w:default="1" w:styleId="Own"><w:name w:val="Own"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>';
  t.is(await docx(paragraph('one') + paragraph('two'), { styles }), '1. one\n2. two\n\n');
});

test('hostile numbering is bounded', async (t) => {
  const level = lvl(0, 'lowerLetter', '%1'.repeat(100_000)).replace('w:start w:val="1"', 'w:start w:val="2147483647"');
  const numbering =
    list(1, level, ...Array.from({ length: 1_000 }, (_, at) => lvl(at, 'upperRoman', '%9'))) + num(1, 1);
  const items = listItem('x').repeat(100) + listItem('y', { level: 999_999 }) + listItem('z', { level: -4 });
  const text = await docx(items, { numbering });
  t.true(text.length < 250_000, `${text.length}`);
  t.true(text.includes('x') && text.includes('y') && text.includes('z'));
  const loop = list(1, '<w:numStyleLink w:val="A"/>') + num(1, 1);
  const styles =
    '<w:style w:styleId="A"><w:basedOn w:val="B"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>';
  t.is(await docx(listItem('x'), { numbering: loop, styles }), 'x\n\n');
});
