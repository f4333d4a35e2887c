export const fileTypes = {
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/csv': 'csv',
  'text/markdown': 'markdown',
} as const;

export type FileType = (typeof fileTypes)[keyof typeof fileTypes];

export function fileTypeOf(mimeType: string): FileType {
  const type = (fileTypes as Record<string, FileType>)[mimeType];
  if (!type) throw new Error(`No file of the type ${mimeType} can be uploaded`);
  return type;
}
