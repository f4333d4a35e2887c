import type { SealedColumn } from '@parley/postgres/reseal';
import { answerPlace } from './text-generations/generate-once.ts';

/** All columns that agent encrypts. */
export const sealedColumns: SealedColumn[] = [
  {
    table: 'kept_generations',
    column: 'answerSealed',
    key: ['tenantId', 'key'],
    placeOf: (row: { tenantId: number; key: string }) => answerPlace(row, row.key),
  },
];
