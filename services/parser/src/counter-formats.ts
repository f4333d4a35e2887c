/** Formats the number of a list item, as `w:numFmt` specifies. */
type Show = (count: number) => string;

const decimal: Show = String;

/** Uses each sign once, then each twice, and so on, as lists with letters do: y, z, aa, bb. */
function repeating(signs: string): Show {
  const each = [...signs];
  const maxTimes = 30;
  return (count) => {
    const times = Math.ceil(count / each.length);
    return count < 1 || times > maxTimes ? decimal(count) : (each[(count - 1) % each.length] ?? '').repeat(times);
  };
}

/** Uses signs for the first numbers only; later numbers are decimal. */
function listed(signs: string | string[]): Show {
  const each = [...signs];
  return (count) => each[count - 1] ?? decimal(count);
}

/** Replaces each decimal digit. */
function digits(zeroToNine: string): Show {
  const each = [...zeroToNine];
  return (count) => decimal(count).replaceAll(/\d/gu, (digit) => each[Number(digit)] ?? digit);
}

const codePoints = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => String.fromCodePoint(first + at));

const romanValues: [string, number][] = [
  ['M', 1_000],
  ['CM', 900],
  ['D', 500],
  ['CD', 400],
  ['C', 100],
  ['XC', 90],
  ['L', 50],
  ['XL', 40],
  ['X', 10],
  ['IX', 9],
  ['V', 5],
  ['IV', 4],
  ['I', 1],
];

const upperRoman: Show = (count) => {
  if (count < 1 || count > 3_999) return decimal(count);
  let rest = count;
  let text = '';
  for (const [sign, value] of romanValues) {
    text += sign.repeat(Math.floor(rest / value));
    rest %= value;
  }
  return text;
};

interface Ideographs {
  digits: string;
  /** Numerals of ten, hundred and thousand. */
  units: string;
  /** The text for a zero between other digits; '' if zeros are omitted. */
  zero: string;
  /** Whether 10 is written `一十`, with the sign for one, and 11 to 19 begin with `一十` too. */
  oneBeforeTen?: boolean;
  oneBeforeHundred?: boolean;
}

/** Formats 105 as `一百零五`. Numbers of 10,000 and more are written digit by digit. */
function counted({ digits: shown, units, zero, oneBeforeTen = false, oneBeforeHundred = true }: Ideographs): Show {
  const digit = [...shown];
  const unit = ['', ...units];
  return (count) => {
    if (count < 1 || count > 9_999) return digits(shown)(count);
    const places = [...decimal(count)].map(Number);
    let text = '';
    let gap = false;
    for (const [at, value] of places.entries()) {
      const power = places.length - 1 - at;
      if (value === 0) {
        gap = true;
        continue;
      }
      if (gap) text += zero;
      gap = false;
      const isSilentOne =
        value === 1 && ((power === 1 && at === 0 && !oneBeforeTen) || (power > 0 && !oneBeforeHundred));
      text += `${isSilentOne ? '' : digit[value]}${unit[power]}`;
    }
    return text;
  };
}

const han = '〇一二三四五六七八九';
const ones =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const irregularOrdinals: Record<string, string> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

function words(count: number): string | undefined {
  if (count < 1 || count > 99) return undefined;
  if (count < 20) return ones[count - 1];
  const ten = tens[Math.floor(count / 10) - 2] ?? '';
  return count % 10 === 0 ? ten : `${ten}-${ones[(count % 10) - 1]}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const ordinal: Show = (count) => {
  const rest = count % 100;
  const suffix = rest > 10 && rest < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${suffix}`;
};

const ordinalText: Show = (count) => {
  const text = words(count);
  if (text === undefined) return ordinal(count);
  const last = /[a-z]+$/u.exec(text)?.[0] ?? '';
  return capital(text.slice(0, -last.length) + (irregularOrdinals[last] ?? `${last.replace(/y$/u, 'ie')}th`));
};

const hebrewValues: [string, number][] = [
  ['ת', 400],
  ['ש', 300],
  ['ר', 200],
  ['ק', 100],
  ['צ', 90],
  ['פ', 80],
  ['ע', 70],
  ['ס', 60],
  ['נ', 50],
  ['מ', 40],
  ['ל', 30],
  ['כ', 20],
  ['טז', 16],
  ['טו', 15],
  ['י', 10],
  ['ט', 9],
  ['ח', 8],
  ['ז', 7],
  ['ו', 6],
  ['ה', 5],
  ['ד', 4],
  ['ג', 3],
  ['ב', 2],
  ['א', 1],
];

const hebrew: Show = (count) => {
  if (count < 1 || count > 999) return decimal(count);
  let rest = count;
  let text = '';
  for (const [letter, value] of hebrewValues) {
    while (rest >= value) {
      text += letter;
      rest -= value;
    }
  }
  return text;
};

const latin = 'abcdefghijklmnopqrstuvwxyz';
const russian = 'абвгдежзиклмнопрстуфхцчшщэюя';
const traditional = '零一二三四五六七八九';
const taiwanese = { digits: traditional, units: '十百千', zero: '零' };
const chinese = { digits: han, units: '十百千', zero: '零' };
const circled = [...codePoints(0x2460, 20), ...codePoints(0x3251, 15), ...codePoints(0x32b1, 15)];
const kana = 'アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン';
const halfKana = 'ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ';
const iroha = 'イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン';

const shown: Record<string, Show> = {
  decimal,
  decimalHalfWidth: decimal,
  decimalZero: (count) => decimal(count).padStart(2, '0'),
  numberInDash: (count) => `- ${count} -`,
  hex: (count) => count.toString(16).toUpperCase(),
  none: () => '',
  upperRoman,
  lowerRoman: (count) => upperRoman(count).toLowerCase(),
  upperLetter: repeating(latin.toUpperCase()),
  lowerLetter: repeating(latin),
  russianLower: repeating(russian),
  russianUpper: repeating(russian.toUpperCase()),
  ordinal,
  ordinalText,
  cardinalText: (count) => capital(words(count) ?? decimal(count)),
  chicago: repeating('*†‡§'),
  decimalFullWidth: digits('０１２３４５６７８９'),
  decimalFullWidth2: digits('０１２３４５６７８９'),
  decimalEnclosedCircle: listed(circled),
  decimalEnclosedCircleChinese: listed(circled),
  decimalEnclosedParen: listed(codePoints(0x2474, 20)),
  decimalEnclosedFullstop: listed(codePoints(0x2488, 20)),
  ideographEnclosedCircle: listed([...codePoints(0x3280, 10)]),
  chineseCounting: counted(chinese),
  chineseCountingThousand: counted(chinese),
  chineseLegalSimplified: counted({ digits: '零壹贰叁肆伍陆柒捌玖', units: '拾佰仟', zero: '零', oneBeforeTen: true }),
  ideographLegalTraditional: counted({
    digits: '零壹貳參肆伍陸柒捌玖',
    units: '拾佰仟',
    zero: '零',
    oneBeforeTen: true,
  }),
  taiwaneseCounting: counted(taiwanese),
  taiwaneseCountingThousand: counted(taiwanese),
  taiwaneseDigital: digits('○一二三四五六七八九'),
  japaneseCounting: counted({ digits: han, units: '十百千', zero: '', oneBeforeHundred: false }),
  japaneseLegal: counted({ digits: '〇壱弐参四伍六七八九', units: '拾百阡', zero: '', oneBeforeTen: true }),
  japaneseDigitalTenThousand: digits(han),
  ideographDigital: digits(han),
  koreanCounting: counted({ digits: '영일이삼사오육칠팔구', units: '십백천', zero: '', oneBeforeHundred: false }),
  koreanDigital: digits('영일이삼사오육칠팔구'),
  koreanDigital2: digits('零一二三四五六七八九'),
  koreanLegal: listed('하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열'.split(' ')),
  ideographTraditional: listed('甲乙丙丁戊己庚辛壬癸'),
  ideographZodiac: listed('子丑寅卯辰巳午未申酉戌亥'),
  aiueo: repeating(halfKana),
  aiueoFullWidth: repeating(kana),
  iroha: repeating(iroha.normalize('NFKC')),
  irohaFullWidth: repeating(iroha),
  ganada: repeating('가나다라마바사아자차카타파하'),
  chosung: repeating('ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ'),
  hebrew1: hebrew,
  hebrew2: repeating('אבגדהוזחטיכלמנסעפצקרשת'),
  arabicAlpha: repeating('أبتثجحخدذرزسشصضطظعغفقكلمنهوي'),
  arabicAbjad: repeating('أبجدهوزحطيكلمنسعفصقرشتثخذضظغ'),
  hindiNumbers: digits('०१२३४५६७८९'),
  thaiNumbers: digits('๐๑๒๓๔๕๖๗๘๙'),
  thaiLetters: repeating('กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ'),
};

/**
 * Formats a count as Word shows it; decimal if the format is unknown. @param custom the beginning of a `custom` format, e.g. `001, 002,
 * 003, ...`
 */
export function shownCount(count: number, format: string, custom = ''): string {
  if (format === 'custom') return decimal(count).padStart(Math.min(9, /^0*1/u.exec(custom)?.[0].length ?? 1), '0');
  return (Object.hasOwn(shown, format) ? shown[format] : undefined)?.(count) ?? decimal(count);
}
