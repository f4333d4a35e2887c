import type { Method, UnitMethods } from './catalogue.ts';

/** The methods of some units with what their protos say about them, for a terminal. */
export function describeUnits(units: UnitMethods[]): string {
  return units
    .flatMap(({ unit, comment, methods }) => [
      [unit, ...indented(comment, 2)],
      ...methods.map((method) => [`  ${signature(method)}`, ...indented(method.comment, 6)]),
    ])
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function signature({ name, takesStream, request, answersStream, response }: Method): string {
  const taken = `${takesStream ? 'stream of ' : ''}${request.name}`;
  return `${name}(${taken}): ${answersStream ? 'stream of ' : ''}${response.name}`;
}

function indented(comment: string, columns: number): string[] {
  return comment === '' ? [] : comment.split('\n').map((line) => `${' '.repeat(columns)}${line}`);
}
