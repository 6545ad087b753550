-- What Hustings keeps in PostgreSQL: who holds tenure of each group, and how far its fences have come.
-- It may be installed twice, and by two at once: the second waits here until the first is done.
SELECT pg_advisory_xact_lock(hashtext('hustings'));

-- One row a group. It is never deleted: its epoch must not begin again in its era.
CREATE TABLE IF NOT EXISTS hustings_tenure (
    group_name  text        PRIMARY KEY,
    era         integer     NOT NULL, -- the high bits of the fence: see hustings_fence_of
    epoch       bigint      NOT NULL, -- one more with each tenure, from 1 in each era
    holder      text        NOT NULL, -- whom it was granted to last
    incarnation bigint      NOT NULL, -- which life of that member
    attempt     bigint      NOT NULL, -- which attempt of that life
    expires     timestamptz NOT NULL  -- by this server's clock
);

-- The highest fence that guarded work of each group has shown.
CREATE TABLE IF NOT EXISTS hustings_fence (
    group_name  text        PRIMARY KEY,
    highest     bigint      NOT NULL
);

-- The fence of an epoch: one number that rises with the era first.
CREATE OR REPLACE FUNCTION hustings_fence_of(era integer, epoch bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT (era::bigint << 48) + epoch $$;

-- Call it inside the transaction that does the guarded work, with the fence of the tenure under which it is
-- done. It raises HU001 if a later tenure is known of, which undoes the transaction.
--
-- Check and work are one: a transaction with a higher fence waits until this one has ended, and whoever
-- comes after that with a lower one is refused. Transactions with the same fence do not wait for each other,
-- but for the first one that shows it.
-- The row of the tenure itself is only looked at: locking it would keep the holder from renewing.
CREATE OR REPLACE FUNCTION hustings_assert_fence(of_group text, fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    seen bigint;
BEGIN
    LOOP
        SELECT f.highest INTO seen FROM hustings_fence AS f
            WHERE f.group_name = of_group AND f.highest >= fence FOR SHARE;
        EXIT WHEN FOUND;
        INSERT INTO hustings_fence AS f (group_name, highest) VALUES (of_group, fence)
            ON CONFLICT (group_name) DO UPDATE SET highest = excluded.highest
            WHERE f.highest < excluded.highest;
    END LOOP;
    SELECT greatest(seen, max(hustings_fence_of(t.era, t.epoch))) INTO seen
        FROM hustings_tenure AS t WHERE t.group_name = of_group;
    IF fence < seen THEN
        RAISE EXCEPTION 'fence % of group "%" is over: % was seen', fence, of_group, seen
            USING ERRCODE = 'HU001', HINT = 'Stop this work: another member leads.';
    END IF;
END
$$;
