import test from 'ava';
import { stories } from '../src/stories.ts';

const story = stories(test);

const summary = '{ apiUsageSummary { costThisMonthUsd monthlySpendCapUsd breakdown { model operation count } } }';

story(
  'a new tenant has no usage and the spend cap of its plan, and so does another tenant of its owner',
  async (t, mesh) => {
    const ada = await mesh.person();
    t.deepEqual(await ada.query(summary), {
      apiUsageSummary: { costThisMonthUsd: 0, monthlySpendCapUsd: 10, breakdown: [] },
    });
    const elsewhere = await ada.elsewhere();
    await ada.query('mutation { createTenant(input: { name: "Analytical Engines", plan: PRO }) { id } }');
    t.like(await ada.query(summary), { apiUsageSummary: { costThisMonthUsd: 0, monthlySpendCapUsd: 200 } });
    t.like(await elsewhere.query(summary), { apiUsageSummary: { monthlySpendCapUsd: 10 } });

    await ada.query('mutation { updateTenant(input: { plan: ENTERPRISE, isSuspended: true }) { id } }');
    t.like(await ada.query(summary), { apiUsageSummary: { monthlySpendCapUsd: 5000 } });
    await ada.query('mutation { deleteTenant }');
    t.like(await ada.refusal(summary), { extensions: { code: 'FORBIDDEN', reason: 'NO_TENANT' } });
  },
);
