"""Makes the practice the tests begin with: database, modules, books, people, catalogues. usage: prepare.py FOLDER"""
import os
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

HERE, FOLDER = Path(__file__).parent, Path(sys.argv[1]).resolve()
SCRIPTS = Path(sys.executable).parent
CONFIGURATION = FOLDER / 'trytond.conf'
MODULES = ['health_dentistry', 'health_insurance', 'health_services', 'health_calendar']
# Of a server on loopback that lives for one test.
PASSWORD = 's3cret-of-the-clinic'
CLINICAL = ['Health Front Desk', 'Health Back Office', 'Health Doctor', 'Health Dentist', 'Health Services Administration']
BOOKS = ['Account', 'Accounting Party']


def configure():
    (FOLDER / 'db').mkdir(exist_ok=True)
    (FOLDER / 'db' / 'gnuhealth.sqlite').touch()
    (FOLDER / 'passlib.ini').write_text((HERE / 'passlib.ini').read_text())
    CONFIGURATION.write_text(
        f'[database]\nuri = sqlite://\npath = {FOLDER}/db\n[password]\npasslib = {FOLDER}/passlib.ini\n')
    (FOLDER / 'password').write_text(PASSWORD)


def admin(*arguments):
    command = [sys.executable, SCRIPTS / 'trytond-admin', '-c', CONFIGURATION, '-d', 'gnuhealth', *arguments]
    done = subprocess.run(command, env={**os.environ, 'TRYTONPASSFILE': str(FOLDER / 'password')},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)


def books(config, Model):
    """A company with a chart of accounts, and two ways to pay."""
    from trytond.modules.account.tests.tools import create_chart, create_fiscalyear, get_accounts
    from trytond.modules.account_invoice.tests.tools import set_fiscalyear_invoice_sequences
    from trytond.modules.company.tests.tools import create_company, get_company
    create_company()
    company = get_company()
    User = Model.get('res.user')
    user = User(config.user)
    user.companies.append(company)
    user.company = company
    user.save()
    config._context = User.get_preferences(True, {})
    # This year's and the next one's: the tests book ahead.
    for year in (date.today().year, date.today().year + 1):
        span = (date(year, 1, 1), date(year, 12, 31))
        set_fiscalyear_invoice_sequences(create_fiscalyear(company, span)).click('create_period')
    create_chart(company)
    accounts = get_accounts(company)
    journal, = Model.get('account.journal').find([('type', '=', 'cash')], limit=1)
    for name in ('Cash', 'Credit card'):
        method = Model.get('account.invoice.payment.method')(
            company=company, name=name, journal=journal, credit_account=accounts['cash'], debit_account=accounts['cash'])
        method.save()
    return company


def person(Party, given, family, gender, born, code, **kind):
    return Party(name=given, lastname=family, is_person=True, gender=gender, dob=born, ref=code, create_target=False, **kind)


def users(Model, company):
    User, Group = Model.get('res.user'), Model.get('res.group')
    made = {}
    for login, groups in (('practice-sync', CLINICAL + BOOKS), ('reception', ['Health Front Desk'])):
        user = User(login=login, name=login, password=PASSWORD)
        user.groups.extend(Group.find([('name', 'in', groups)]))
        # A record belongs to one list at a time.
        user.companies.append(Model.get('company.company')(company.id))
        user.company = company
        user.save()
        made[login] = user
    return made


def countries(Model):
    """The EHR's own list is a download of its own."""
    Country, Subdivision = Model.get('country.country'), Model.get('country.subdivision')
    for name, code, parts in (('United States', 'US', {'US-CT': 'Connecticut', 'US-IL': 'Illinois', 'US-NY': 'New York'}),
                              ('Canada', 'CA', {'CA-QC': 'Quebec'})):
        country = Country(name=name, code=code)
        country.save()
        for part, title in parts.items():
            Subdivision(country=country, code=part, name=title, type='state').save()


def people(Model, api_user):
    Party, Institution = Model.get('party.party'), Model.get('gnuhealth.institution')
    Professional = Model.get('gnuhealth.healthprofessional')
    clinics = []
    for name, code in (('Harbour Dental', 'HARBOUR'), ('Hillside Dental', 'HILL')):
        party = Party(name=name, is_institution=True)
        party.save()
        clinic = Institution(party=party, code=code, institution_type='clinic', public_level='private')
        clinic.save()
        clinics.append(clinic)
    specialty, = Model.get('gnuhealth.specialty').find([], limit=1) or [None]
    if not specialty:
        specialty = Model.get('gnuhealth.specialty')(name='Dentistry', code='DENT')
        specialty.save()
    for number, (given, family, gender) in enumerate(
            [('Åsa', 'Lindqvist', 'f'), ('Tomasz', 'Żółkowski', 'm'), ('Mai', 'Nguyễn', 'f')]):
        party = person(Party, given, family, gender, None, f'DOC{number}', is_healthprof=True)
        party.contact_mechanisms.new(type='email', value=f'doctor{number}@mail.example')
        if number == 0:
            # Clinical records are written in the name of the professional behind the login.
            party.internal_user = api_user
        party.save()
        professional = Professional(party=party, institution=clinics[0], code=f'LIC-{number}')
        if number == 0:
            professional.specialties.new(specialty=specialty)
        professional.save()
    return clinics


def patients(Model):
    Party, Patient = Model.get('party.party'), Model.get('gnuhealth.patient')
    doctor, = Model.get('gnuhealth.healthprofessional').find([('code', '=', 'LIC-0')])
    french, = Model.get('ir.lang').find([('code', '=', 'fr')])
    rows = [
        ('Zoë\u00a0Ann', 'Łopata-O’Brien', 'f', date(1990, 2, 28)),
        ('محمد', 'حسين', 'm', date(1985, 12, 31)),
        ('秀英', '王', 'f', date(2001, 1, 1)),
        ('José', 'Muñoz', 'nb', date(1976, 2, 29)),
        ('Þóra', 'Jónsdóttir', 'f', date(1969, 10, 1)),
        ('Ольга', 'Петрова', 'u', None),
    ]
    for number, (given, family, gender, born) in enumerate(rows):
        party = person(Party, given, family, gender, born, f'C-{number}', is_patient=True)
        party.contact_mechanisms.new(type='mobile', value=f'+1 312 555 01{number:02}')
        if number == 0:
            party.lang = french
            party.contact_mechanisms.new(type='phone', value='+1 312 556 0100')
            party.contact_mechanisms.new(type='phone', value='+1 312 557 0100', name='Work')
            party.contact_mechanisms.new(type='email', value='patient0@mail.example')
            address = party.addresses.new()
            address.street, address.city, address.postal_code = '1 Rue de l’Été\nApt 2', 'Montréal', 'H2X 1Y4'
        party.save()
        patient = Patient(party=party, active=number != 5)
        if number == 0:
            patient.primary_care_doctor = doctor
        patient.save()


def catalogues(Model):
    Pathology, Group = Model.get('gnuhealth.pathology'), Model.get('gnuhealth.pathology.group')
    allergic, = Group.find([('code', '=', 'ALLERGIC')])
    for code, name, allergy in (('Z88.0', 'Allergy to penicillin', True), ('Z91.040', 'Latex allergy', True),
                                ('I10', 'Hypertension', False), ('E11', 'Type 2 diabetes', False)):
        pathology = Pathology(code=code, name=name)
        if allergy:
            pathology.groups.new(disease_group=allergic)
        pathology.save()
    unit, = Model.get('product.uom').find([('symbol', '=', 'u')])
    Template = Model.get('product.template')
    for name in ('Amoxicillin', 'Ibuprofen'):
        template = Template(name=name, type='goods', default_uom=unit)
        product, = template.products
        product.is_medicament = True
        template.save()
        product, = template.products
        Model.get('gnuhealth.medicament')(product=product, active_component=name.lower()).save()
    insurer = Model.get('party.party')(name='Delta Dental', is_insurance_company=True)
    insurer.save()
    template = Template(name='Delta Premier', type='service', default_uom=unit)
    product, = template.products
    product.is_insurance_plan = True
    template.save()
    product, = template.products
    Model.get('gnuhealth.insurance.plan')(company=insurer, product=product).save()


def main():
    configure()
    admin('--all', '--email', 'admin@example.invalid')
    admin('-u', *MODULES, '--activate-dependencies')
    from proteus import Model, config
    proteus = config.set_trytond('sqlite:///gnuhealth', user='admin', config_file=str(CONFIGURATION))
    company = books(proteus, Model)
    countries(Model)
    made = users(Model, company)
    people(Model, made['practice-sync'])
    patients(Model)
    catalogues(Model)


main()
