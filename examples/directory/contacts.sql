-- 10,000 contacts, always the same ones. For SQLite and for PostgreSQL.

begin;

create table contact (
    id integer primary key,
    firstname text not null,
    lastname text not null,
    phone text,
    email text
);

create temporary table given (n integer, name text);
insert into given values
    (0, 'Ada'), (1, 'Amélie'), (2, 'Björn'), (3, 'Chidi'), (4, 'Elif'), (5, 'Hana'), (6, 'Inês'),
    (7, 'Jun'), (8, 'Layla'), (9, 'Mei'), (10, 'Nguyên'), (11, 'Olga'), (12, 'Priya'), (13, 'Quinn'),
    (14, 'Siobhán'), (15, 'Tariq'), (16, 'Ułan'), (17, 'Yuki'), (18, 'Zoë');

create temporary table family (n integer, name text);
insert into family values
    (0, 'Abe'), (1, 'Brontë'), (2, 'Castro'), (3, 'Demir'), (4, 'Eze'), (5, 'Fischer'), (6, 'García'),
    (7, 'Hughes'), (8, 'Ivanova'), (9, 'Jensen'), (10, 'Kim'), (11, 'Lim'), (12, 'Murphy'),
    (13, 'Novák'), (14, 'O''Brien'), (15, 'Patel'), (16, 'Rossi'), (17, 'Sato'), (18, 'Tan'),
    (19, 'Usman'), (20, 'Vogel'), (21, 'Wong'), (22, 'Yılmaz');

-- Every 10th has no phone, every 7th no address.
with recursive number(id) as (select 1 union all select id + 1 from number where id < 10000)
insert into contact (id, firstname, lastname, phone, email)
select
    number.id,
    given.name,
    family.name,
    case when number.id % 10 = 0 then null else '+65 ' || (60000000 + number.id * 7919 % 10000000) end,
    case when number.id % 7 = 0 then null else 'contact' || number.id || '@example.org' end
from number
join given on given.n = number.id % 19
join family on family.n = number.id % 23;

drop table given;
drop table family;

commit;
