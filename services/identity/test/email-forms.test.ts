import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { onEveryDatabase } from '@parley/testing/every-database';
import { identitySchema } from '../src/identity-schema.ts';

onEveryDatabase(({ replicaOf, test, testSchema }) => {
  test('emails that are stored in other forms get the one form, but for a mailbox with two accounts', async (t) => {
    const at = identitySchema.migrations.findIndex(({ name }) => name === '015-email-forms');
    const before: SchemaDeclaration = { ...identitySchema, migrations: identitySchema.migrations.slice(0, at) };
    const earlier = await testSchema(t, before);
    const written = [
      'info@xn--mller-kva.example',
      'jo\u0308rg@example.com',
      'twice@müller.example',
      'twice@xn--mller-kva.example',
      'ada@example.com',
    ];
    const emails = (database: typeof earlier) =>
      database.transactShared(async ({ knex }) =>
        (await knex('users').orderBy('id').select('email')).map((row) => row.email),
      );
    await earlier.transactShared(({ knex }) =>
      knex('users').insert(written.map((email, at) => ({ email, fullname: 'Ada', referralCode: `code-${at}` }))),
    );
    t.deepEqual(await emails(earlier), written);

    const database = await replicaOf(t, earlier, identitySchema);
    await database.migrate();
    t.deepEqual(await emails(database), [
      'info@müller.example',
      'jörg@example.com',
      'twice@müller.example',
      'twice@xn--mller-kva.example',
      'ada@example.com',
    ]);
  });
});
