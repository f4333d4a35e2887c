import { isIPv4, isIPv6 } from 'node:net';

/** The formats that are checked, each in linear time. All other formats are annotations only. */
export const formats: Record<string, (text: string) => boolean> = {
  date: isDate,
  time: isTime,
  'date-time': (text) => {
    const [date = '', time = '', ...more] = text.split(/[Tt ]/u);
    return more.length === 0 && isDate(date) && isTime(time);
  },
  email: (text) => text.length <= 320 && /^[^\s@]+@[^\s@]+$/u.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
  uri: (text) => /^[a-z][a-z\d+.-]*:[^\s]*$/iu.test(text) && URL.canParse(text),
  uuid: (text) => /^(?:urn:uuid:)?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/iu.test(text),
};

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/u.exec(text) ?? [];
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/iu.test(text);
}
