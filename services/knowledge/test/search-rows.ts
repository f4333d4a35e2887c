import type { RetrievalMode } from '../src/generated/schema.ts';

export interface SearchRows {
  kind: string;
  /** The texts of the documents, by document name. */
  documents: Record<string, string>;
  /** Questions, each with the name of the document that must rank first. */
  questions: [question: string, document: string][];
  modes: RetrievalMode[];
}

const controller = (code: string, part: string, rule: string, cause: string, shift: number) =>
  `Error ${code} belongs to part ${part} under ${rule}. The controller stops the line and shows the code. An operator resets it after cause ${cause} is removed and enters it in the log of shift ${shift}.`;

const causes = ['dust', 'vibration', 'moisture', 'heat'];

/** Returns the documents whose names match. */
const some = (documents: Record<string, string>, names: RegExp) =>
  Object.fromEntries(Object.entries(documents).filter(([name]) => names.test(name)));

/** Questions for which an earlier version of the search found a wrong document or none. */
const rows: SearchRows[] = [
  {
    kind: 'codes with another sign, or without',
    documents: {
      ...Object.fromEntries(
        Array.from({ length: 72 }, (_, at) => at + 1).map((n) => {
          const two = String(n).padStart(2, '0');
          const text = controller(`E-10${two}`, `BC${1009 + n}`, `RULE-A0${two}`, causes[n % 4] ?? '', (n % 3) + 1);
          return [`note-${two}.txt`, text];
        }),
      ),
      'inv.txt': 'Invoice INV/2026/00042 was paid on 3 March.',
      'range.txt': 'Parts from BC2000 to BC2999 are made in the other plant; error codes above 2000 are theirs.',
      'pump.txt': 'The seal of the pump has the number 4711-88-203, that of the valve 4711-88-204.',
      'tap.txt': 'Spare tap T 900X, order number A4512-88.',
      'de.txt': 'Der Vertrag DE.77/b gilt für die Anlage Süd-12.',
    },
    questions: [
      ['E1042', 'note-42.txt'],
      ['BC-1013', 'note-04.txt'],
      ['What does error e1007 mean?', 'note-07.txt'],
      ['Which cause has BC 1030?', 'note-21.txt'],
      ['RULE A031', 'note-31.txt'],
      ['rule-a-055', 'note-55.txt'],
      ['Was INV-2026-00042 paid?', 'inv.txt'],
      ['INV202600042', 'inv.txt'],
      ['471188203', 'pump.txt'],
      ['T900-X', 'tap.txt'],
      ['a4512 88', 'tap.txt'],
      ['A451288', 'tap.txt'],
      ['Vertrag DE77B', 'de.txt'],
      ['SÜD12', 'de.txt'],
      ['E‑1064', 'note-64.txt'],
    ],
    modes: ['HYBRID'],
  },
  {
    kind: 'Hangul with other spaces',
    documents: {
      'ja-0.txt': '商品の返品は到着後三十日以内に受け付けます。',
      'ko-2.txt': '보증 기간은 구입일로부터 이 년입니다.',
      'ko-3.txt': '배송비는 삼만 원 이상 구매 시 무료입니다.',
      'ko-5.txt': '주차장은 건물 뒤에 있습니다.',
      'ko-6.txt': '고객 센터 전화번호는 홈페이지 아래에 있습니다.',
      'ko-7.txt': '비밀번호를 잊으셨으면 재설정 링크를 받으세요.',
      'th-0.txt': 'การคืนสินค้าทำได้ภายในสามสิบวันหลังได้รับของ',
      'th-4.txt': 'ที่จอดรถอยู่ด้านหลังอาคาร',
    },
    questions: [
      ['보증기간', 'ko-2.txt'],
      ['보증 기간', 'ko-2.txt'],
      ['주차', 'ko-5.txt'],
      ['고객센터', 'ko-6.txt'],
      ['무료배송', 'ko-3.txt'],
      ['비밀 번호 재설정', 'ko-7.txt'],
    ],
    modes: ['COSINE', 'HYBRID'],
  },
  {
    kind: 'what only the name of a document says',
    documents: {
      'Manual A100.md': 'The battery holds 2,100 mAh and is charged in two hours.',
      'Manual A200.md': 'The battery holds 3,100 mAh and is charged in two hours.',
      'Manual B100.md': 'The battery holds 5,200 mAh and is charged in two hours.',
      'Manual B200.md': 'The battery holds 6,200 mAh and is charged in two hours.',
      'Preisliste_2025.txt': 'Die Stunde kostet 80 Euro, die Anfahrt 40 Euro.',
      'Preisliste_2026.txt': 'Die Stunde kostet 90 Euro, die Anfahrt 45 Euro.',
      '東京支店.txt': '営業時間は九時から十八時までです。',
      '大阪支店.txt': '営業時間は十時から十九時までです。',
      'Minutes of the board, May.txt': 'It was agreed to wait with the new roof until the money is there.',
      'Minutes of the works council, May.txt': 'It was agreed to wait with the new rota until the staff is there.',
    },
    questions: [
      ['battery of the B100', 'Manual B100.md'],
      ['How much does the battery of the A200 hold?', 'Manual A200.md'],
      ['manual b-200', 'Manual B200.md'],
      ['Was kostet die Stunde 2026?', 'Preisliste_2026.txt'],
      ['Preisliste 2025', 'Preisliste_2025.txt'],
      ['大阪支店の営業時間', '大阪支店.txt'],
      ['東京支店の営業時間は？', '東京支店.txt'],
      ['What did the works council agree?', 'Minutes of the works council, May.txt'],
    ],
    modes: ['COSINE', 'HYBRID'],
  },
];

const [codes, hangul, names] = rows;

/** All rows, and variants of some rows with fewer documents. */
export const searchRows: SearchRows[] = [
  ...rows,
  {
    kind: 'codes with another sign, or without, among few',
    documents: some(codes?.documents ?? {}, /^(?:note-(?:02|03|04|12|32|41|42|43|52|62|72)|inv|range)/u),
    questions: [
      ['E1042', 'note-42.txt'],
      ['BC-1013', 'note-04.txt'],
    ],
    modes: ['HYBRID', 'COSINE'],
  },
  {
    kind: 'Hangul with other spaces among few',
    documents: some(hangul?.documents ?? {}, /^(?:ja-0|ko-2|ko-5|th-)/u),
    questions: [
      ['보증기간', 'ko-2.txt'],
      ['보증 기간', 'ko-2.txt'],
      ['주차', 'ko-5.txt'],
    ],
    modes: ['HYBRID', 'COSINE'],
  },
  {
    kind: 'what only the name of a document says, among few',
    documents: some(names?.documents ?? {}, /^Manual/u),
    questions: [['battery of the B100', 'Manual B100.md']],
    modes: ['HYBRID', 'COSINE'],
  },
];
